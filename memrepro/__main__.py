"""`python -m memrepro`."""

import sys

from memrepro.pipeline.cli import main

sys.exit(main())
