"""The pipeline's stages, one module each: what a notebook calls, one call a stage.

Only `store`, `fetch`, `models` and `vectors` touch files; a stage names them by role through
`memrepro.files.paths` and joins the rooms.
"""
