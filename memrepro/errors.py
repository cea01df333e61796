"""The one error that this package raises on purpose."""


class MemreproError(Exception):
    """One sentence that names the item, what was found, and what to do.

    The command line prints it without a traceback and exits with status 1.
    """
