"""The command that tries all methods on one's own conversations."""

import argparse
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError, printable
from memrepro.pipeline.printing import Add, print_json, print_table, warn


def add_to(add: Add) -> None:
    """Add the command to the parser."""
    one = add(
        "try", _try,
        more="CHATS is JSON lines (conversation, session, at, role or speaker, text, id), LoCoMo's "
        "or LongMemEval's file, or an export of ChatGPT or Claude; a question has `question`, "
        "`gold` (ids of messages or sessions) and `conversation`. All stays on this machine: the "
        "page, a value a question, and the best method go to --out. docs/own-data.md shows it all.",
    )  # fmt: skip
    one.add_argument(
        "chats", nargs="?", metavar="CHATS", help="a file; or a data set's name, such as locomo"
    )
    one.add_argument("--questions", type=Path, metavar="FILE", help="JSON lines")
    one.add_argument(
        "--make-questions", type=int, default=0, metavar="N",
        help="make N known-item questions of the conversations instead; marked as made",
    )  # fmt: skip
    one.add_argument(
        "--model", type=Path, help="of an entry (YAML) of a language model that words made ones"
    )
    one.add_argument(
        "--methods", action="append", default=[], metavar="NAME",
        help="one method, repeated for more; all by default (--methods list names them)",
    )  # fmt: skip
    one.add_argument(
        "--run", dest="runs", action="append", default=[], type=Path, metavar="FILE",
        help="a ranking made elsewhere, to compare with all: TREC, .jsonl, .parquet",
    )  # fmt: skip
    one.add_argument("--metric", default="recall_all@10", help="name@k (recall_all@10)")
    one.add_argument("--level", choices=("session", "round", "turn"), default="round")
    one.add_argument("--encoder", default="all-minilm-l6-v2", help="of encode/encoders.yaml")
    one.add_argument(
        "--leave-out", action="append", default=[], metavar="KIND", help="questions of a kind"
    )
    one.add_argument("--out", type=Path, default=Path("trial"), metavar="DIR", help="(trial)")


def _try(arguments: argparse.Namespace) -> int:
    from memrepro.face.conversations import load
    from memrepro.face.defaults import tried
    from memrepro.face.own.noticed import sentences
    from memrepro.face.trial.files import Source, check_folder, write_trial
    from memrepro.face.trial.page import headline
    from memrepro.face.trial.trying import run_trial

    if "list" in arguments.methods:
        print("\n".join(tried()))
        return 0
    if not arguments.chats:
        raise MemreproError("no conversations: name their file, such as chats.jsonl")
    check_folder(arguments.out)
    if arguments.model and not arguments.make_questions:
        raise MemreproError("--model words made questions: say how many by --make-questions N")
    chats = Path(arguments.chats).expanduser()
    source: str | Path = chats.resolve() if chats.is_file() else arguments.chats
    questions = arguments.questions.expanduser().resolve() if arguments.questions else None
    data = load(
        source, questions, make_questions=arguments.make_questions, model=_model(arguments.model)
    )
    for sentence in sentences(data.noticed):
        warn(sentence)
    trial = run_trial(
        data, arguments.methods or None, metric=arguments.metric, level=arguments.level,
        encoder=arguments.encoder, runs=arguments.runs, leave_out=arguments.leave_out,
    )  # fmt: skip
    # A model may word other questions when it is asked again: such a trial is not read again.
    again = None if arguments.model else Source(
        str(source), str(questions or ""), arguments.make_questions
    )  # fmt: skip
    page = write_trial(trial, arguments.out, again)
    if arguments.json:
        print_json({
            "found": headline(trial), "methods": trial.frame().reset_index().to_dict("records"),
            "not run": dict(trial.not_run), "noticed": dict(data.noticed), "page": str(page),
        })  # fmt: skip
        return 0
    for sentence in headline(trial):
        print(printable(sentence))
    print()
    shown = trial.frame().drop(columns=["p"]).reset_index()
    print_table(shown.round(4))
    for name, why in trial.not_run.items():
        warn(f"not run: {name}: {why}")
    for sentence in (one for some in trial.problems.values() for one in some):
        warn(sentence)
    print(f"\npage: {page}   best method: {arguments.out / 'best.yaml'} ({trial.best.name})")
    return 0


def _model(path: Path | None) -> Any:
    """A language model by its entry, its answers recorded in the cache; None without one."""
    if path is None:
        return None
    from memrepro.files.atomic import read_yaml
    from memrepro.llm.choose import language_model
    from memrepro.llm.records import AnswerStore

    return language_model(path.stem, read_yaml(path), AnswerStore(), "try", live=True)
