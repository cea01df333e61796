"""`python -m memrepro memory`: a person's tiered memory from the command line.

Tables for people, `--json` for programs. Here alone the clock is the system's where none is given.
"""

import argparse
from pathlib import Path
from typing import Any

ENCODER = "all-minilm-l6-v2"


def add_commands(subparsers: Any) -> None:
    """Add `memory` with its commands; each sets `action`, which takes the arguments, gives 0.

    Args:
        subparsers: what `ArgumentParser.add_subparsers` has returned.
    """
    about = "a person's tiered memory: add, search, see, correct, delete, carry away"
    memory = subparsers.add_parser("memory", help=about, description=about)
    commands = memory.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
        command.set_defaults(action=_run, command=name)
        command.add_argument("--user", required=True, help="whose memory: any name")
        command.add_argument("--root", required=True, type=Path, help="the folder of all memories")
        command.add_argument("--encoder", default=ENCODER, help=f"of texts (default: {ENCODER})")
        command.add_argument("--json", action="store_true", help="print JSON")
        return command

    def now(command: argparse.ArgumentParser) -> None:
        command.add_argument(
            "--now", default="", help="ISO 8601 or Unix seconds (default: the system's clock)"
        )

    one = add("add", "take in messages, one JSON object a line")
    one.add_argument(
        "file", type=Path, help="message_id, speaker, at (ISO 8601 or Unix seconds), text, channel"
    )
    one = add("search", "what is remembered of a question")
    one.add_argument("query")
    one.add_argument("--channel", help="of one channel alone")
    one.add_argument("--read", action="store_true", help="leave no trace, beside one who writes")
    now(one)
    one = add("list", "see what is remembered")
    one.add_argument("what", choices=("messages", "segments", "facts"))
    one.add_argument("--status", default="active", help="of facts: active, superseded, …")
    one = add("delete", "delete for good")
    which = one.add_mutually_exclusive_group(required=True)
    which.add_argument("--message", action="append", metavar="ID", help="may be given repeatedly")
    which.add_argument("--between", nargs=2, metavar=("START", "END"), help="END not included")
    which.add_argument("--fact", metavar="ID", help="with its history")
    which.add_argument("--everything", action="store_true", help="all of the user's memory")
    one = add("edit", "put other words in place of a message's or fact's")
    which = one.add_mutually_exclusive_group(required=True)
    which.add_argument("--message", metavar="ID")
    which.add_argument("--fact", metavar="ID")
    one.add_argument("text")
    now(one)
    add("pause", "take in no messages until resumed")
    add("resume", "take in messages again")
    add("export", "write all of it into one JSON file").add_argument("file", type=Path)
    add("import", "take an export into an empty memory").add_argument("file", type=Path)
    now(add("maintain", "close segments, make facts of old ones, merge facts"))
    add("metrics", "what has been counted")


def _run(arguments: argparse.Namespace) -> int:
    # Imported here because it takes seconds, and `--help` needs none of it.
    from memrepro.memory.actions import ACTIONS, show

    show(ACTIONS[arguments.command](arguments), arguments.json)
    return 0
