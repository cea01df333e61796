"""Rankings made elsewhere: read, checked, evaluated and set beside the project's own.

Knows run files, qrels and the committed runs; knows no method and no document.
"""
