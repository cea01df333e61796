"""What holds for the audit's tests."""

import pytest

# They are about how a file is read apart.
APART = ("test_bounds", "test_read")


@pytest.fixture(autouse=True)
def read_here(request, monkeypatch):
    """A file is read in the test's own process, of which a fork takes longer than most tests."""
    if request.path.stem not in APART:
        monkeypatch.setattr(
            "memrepro.audit.read.files.read_apart", lambda read, path, *more: read(path, *more)
        )
