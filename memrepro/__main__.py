"""`python -m memrepro`."""

import sys

from memrepro.cli import main

sys.exit(main())
