"""Data sets: one module each, and `downloads.yaml`, the registry of their files.

Every module has `load(folder, name) -> Dataset`, which reads the files that `download` put into
`folder`; one that makes its own files (the sample) has `compile_files(folder, parameters)` too.
"""
