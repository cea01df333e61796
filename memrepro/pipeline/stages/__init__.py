"""The work of the pipeline's stages, one module each, with `run`: `memrepro stage` calls them.

Only these, `study` and `provenance.verify` write what stages leave; they name files by role through
`memrepro.files.paths` and join the rooms.
"""
