"""What holds for all tests."""

import os

# Workers run side by side, one a core; a small model waits for its threads rather than works.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

# How long an example takes belongs to the machine.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")


def pytest_collection_modifyitems(items):
    """Put files with slow tests first, so that at the end no worker waits for another's."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
