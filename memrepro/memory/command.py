"""`python -m memrepro memory`: a person's tiered memory from the command line.

Tables for people, `--json` for programs. Here alone the clock is the system's where none is given.
"""

import argparse
from pathlib import Path

ENCODER = "all-minilm-l6-v2"
ROOT = "~/.memrepro"
FORMS = ("memrepro", "chatgpt", "claude", "locomo", "longmemeval", "jsonl")


def add_commands(memory: argparse.ArgumentParser) -> None:
    """Add the commands of `memory`; each sets `action`, which takes the arguments, gives 0."""
    commands = memory.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
        command.set_defaults(action=_run, command=name)
        whose = {"default": "me"} if name in ("users", "settings") else {"required": True}
        command.add_argument("--user", help="whose memory: any name", **whose)
        command.add_argument(
            "--root", type=_folder, default=ROOT, help=f"of all memories (default: {ROOT})"
        )
        command.add_argument("--encoder", default=ENCODER, help=f"of texts (default: {ENCODER})")
        command.add_argument(
            "--reencode", action="store_true", help="make all vectors anew by another encoder"
        )
        command.add_argument("--timezone", default="UTC", help="such as Europe/Oslo (default: UTC)")
        command.add_argument(
            "--settings", default="everything", help="'everything' (default) or 'as printed'"
        )
        command.add_argument(
            "--model",
            type=Path,
            help="the entry (YAML) of a model to make facts and decide on them",
        )
        command.add_argument("--json", action="store_true", help="print JSON")
        return command

    def now(command: argparse.ArgumentParser) -> None:
        command.add_argument(
            "--now", default="", help="ISO 8601 or Unix seconds (default: the system's clock)"
        )

    one = add("add", "take in messages, one JSON object a line, or a text")
    one.add_argument(
        "file", type=Path, nargs="?",
        help="message_id, speaker, at (ISO 8601 or Unix seconds), text, channel",
    )  # fmt: skip
    one.add_argument("--text", help="what the user says now")
    one = add("search", "what is remembered of a question")
    one.add_argument("query")
    one.add_argument("-k", type=int, default=5, help="how many messages (default: 5)")
    one.add_argument("--channel", help="of one channel alone")
    one.add_argument("--where", action="append", default=[], metavar="NAME=VALUE",
                     help="metadata that a message must have; may be given repeatedly")  # fmt: skip
    one.add_argument("--threshold", type=float, help="the least cosine of a certain answer")
    one.add_argument("--read", action="store_true", help="beside one who writes")
    now(one)
    one = add("context", "what is remembered of a question, as text for a prompt")
    one.add_argument("query")
    one.add_argument("--tokens", type=int, default=800, help="at most so many (default: 800)")
    one.add_argument("--read", action="store_true", help="beside one who writes")
    now(one)
    one = add("facts", "the facts that hold, or held at a time, or what led to one")
    one.add_argument("--as-of", default="", metavar="TIME")
    one.add_argument("--history", metavar="FACT", help="a fact's id or words")
    now(one)
    one = add("forget", "delete what a text names, at most five messages, or one by its id")
    one.add_argument("what")
    one.add_argument("--dry-run", action="store_true", help="say what would go, and leave it")
    add("users", "whose memories there are")
    add("settings", "the named settings, and in what they differ")
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
    one = add("import", "take in an export, or chats of other programs")
    one.add_argument("file", type=Path)
    one.add_argument("--format", choices=FORMS, help="default: what the file looks like")
    one = add("serve", "serve a memory to agents over stdio (Model Context Protocol)")
    one.add_argument("--mcp", action="store_true", required=True, help="the protocol")
    now(add("maintain", "close segments, make facts of old ones, merge facts"))
    add("metrics", "what has been counted")


def _folder(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError as error:  # as in a container whose user has no name
        raise argparse.ArgumentTypeError(f"{name}: there is no home here, name a folder") from error


def _run(arguments: argparse.Namespace) -> int:
    # Imported here because it takes seconds, and `--help` needs none of it.
    from memrepro.memory.actions import ACTIONS, serve, show

    if arguments.command == "serve":
        serve(arguments)
        return 0
    show(ACTIONS[arguments.command](arguments), arguments.json)
    return 0
