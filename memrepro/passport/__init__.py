"""From a number in a table back to the questions behind it; see `docs/passport.md`."""

from memrepro.passport.why import cell

__all__ = ["cell"]
