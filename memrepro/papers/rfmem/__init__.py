"""RF-Mem: its printed numbers, tables and claims as data, and the analyses of its two paths."""
