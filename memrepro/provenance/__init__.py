"""From a number in a table back to the questions behind it; see `docs/passport.md`."""

from memrepro.provenance.why import Questions, cell

__all__ = ["Questions", "cell"]
