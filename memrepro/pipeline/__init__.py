"""How the rooms are joined: command line, notebook runner, one module a stage.

Decides no number.
"""
