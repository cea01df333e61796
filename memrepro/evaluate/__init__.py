"""Rankings and gold become metrics, roll-ups, intervals and p-values.

Knows no file, no data set and no encoder.
"""
