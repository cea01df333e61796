"""`python -m memrepro.site`: write the report as a static site to `build/site/`."""

import argparse
import sys

from memrepro.errors import MemreproError
from memrepro.files.atomic import root
from memrepro.site.build import write_site


def main() -> int:
    """Write the site and say where it is; an error is one sentence and the status 1."""
    parser = argparse.ArgumentParser(prog="python -m memrepro.site", description=__doc__)
    parser.add_argument(
        "profiles", nargs="*", help="sample, open or full; all that have results if none is given"
    )
    try:
        page = write_site(parser.parse_args().profiles)
    except MemreproError as error:
        print(f"memrepro: {error}", file=sys.stderr)
        return 1
    print(f"report: {page.relative_to(root())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
