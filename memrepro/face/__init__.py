"""What `import memrepro as mr` gives: the package for people, as pandas and plain objects.

Each module defines some of the names of `memrepro.__all__`; `docs/python.md` shows them all.
"""
