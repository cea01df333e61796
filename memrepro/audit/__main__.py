"""`python -m memrepro.audit FILE`: the audit with no other part of the package.

`python -m memrepro audit` is the same command among the others.
"""

import argparse
import json
import sys
from pathlib import Path

from memrepro.audit.finding import SURE
from memrepro.errors import MemreproError, cut, printable
from memrepro.files.atomic import keep_others, write_text

MORE = (
    "FILE is LaTeX, HTML, Markdown, csv, xlsx, docx, pdf or YAML (docs/audit.md), or a folder of "
    "these; no run is needed. The exit status is 1 where something does not hold that is at least "
    "as sure as the level, 2 where nothing could be read (with --strict: where any table "
    "could not), else 0."
)


def add_to(audit: argparse.ArgumentParser) -> None:
    """Add the command's arguments, but for `--json`."""
    audit.add_argument("file", type=Path, metavar="FILE")
    audit.add_argument("--level", choices=(*SURE, "never"), default="likely")
    audit.add_argument("--strict", action="store_true", help="fail where a table cannot be read")
    audit.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN",
        help="files of the folder to pass over, such as 'drafts/*'; may be given again",
    )  # fmt: skip
    audit.add_argument("--page", type=Path, metavar="HTML", help="write a page for authors there")
    audit.add_argument("--read", type=Path, metavar="YAML", help="write what was understood there")


def run(arguments: argparse.Namespace) -> int:
    """Audit, print and write; the exit status."""
    try:
        return _run(arguments)
    except MemreproError as error:
        print(f"memrepro: {error}", file=sys.stderr)
        return 2


def _run(arguments: argparse.Namespace) -> int:
    from memrepro.audit.check import report_of
    from memrepro.audit.page import BEGINS, as_json, as_text, page
    from memrepro.audit.read.files import tables_of, write_entries

    if arguments.page:
        keep_others(arguments.page, BEGINS)
    read = tables_of(arguments.file, arguments.exclude)
    if arguments.read:
        write_entries(arguments.read, read)
    report = report_of(read)
    if arguments.page:
        write_text(arguments.page, page(report, arguments.file.name))
    if arguments.json:
        print(json.dumps(as_json(report), indent=1))
    else:
        print(as_text(report))
    for one in report.unread:
        caption = f" ('{cut(one.caption, 60)}')" if one.caption else ""
        print(printable(f"not read: {one.source}{caption}: {one.why}"), file=sys.stderr)
    print(read.summary, file=sys.stderr)
    if arguments.level != "never" and report.failing(arguments.level):
        return 1
    missed = any(one.counts for one in report.unread)
    return 2 if not report.tables or (arguments.strict and missed) else 0


def parser() -> argparse.ArgumentParser:
    """The parser of the command by itself."""
    alone = argparse.ArgumentParser("memrepro audit", description=MORE)
    alone.add_argument("--json", action="store_true", help="print JSON")
    add_to(alone)
    return alone


def main() -> int:
    """The command by itself."""
    return run(parser().parse_args())


if __name__ == "__main__":
    sys.exit(main())
