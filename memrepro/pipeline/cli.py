"""The command line: `python -m memrepro`. Tables for people, `--json` for programs."""

import argparse
import os
import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from memrepro import __version__
from memrepro.errors import MemreproError, cut
from memrepro.pipeline.printing import Action, Add, plain_output, print_table, warn

_ALONE = """usage: memrepro audit [-h] [--json] … FILE

  audit   check the printed numbers of a paper's tables (memrepro audit --help)

Some libraries of the other commands (repro, verify, why, memory, …) are not installed here:
pip install 'memrepro[pipeline]'."""


def _stage(arguments: argparse.Namespace) -> int:
    from memrepro.files.atomic import root
    from memrepro.pipeline.stage import run_and_show, run_stage
    from memrepro.site.notebook import to_page

    name, given = arguments.name, arguments.arguments
    if arguments.page and not arguments.notebook:
        raise MemreproError(
            "--page: a page is made of an executed notebook, so give --notebook too"
        )
    if arguments.notebook:
        results = run_and_show(name, given, root() / arguments.notebook)
    else:
        results = run_stage(name, given)
    for done in results:
        print_table(done.table)
    if arguments.page:
        to_page(root() / arguments.notebook, root() / arguments.page)
        # To be looked at while the other stages run.
        print(f"page: {arguments.page}", flush=True)
    return 0


def _stages(arguments: argparse.Namespace) -> int:
    from memrepro.files.processes import worker_pool
    from memrepro.pipeline.stage import STAGES

    given = [_parser("stage").parse_args(["stage", *one.split()]) for one in arguments.stages]
    works = {module for one in given if one.name in STAGES for module in STAGES[one.name].modules}
    # What all of them import is imported once; most retrievers import scikit-learn, at first use.
    preload = ["memrepro.pipeline.notebook", *(f"memrepro.{one}" for one in sorted(works))]
    if any(one.name == "retrieve" for one in given):
        preload += ["sklearn.cluster", "sklearn.feature_extraction.text"]
    workers = min(os.cpu_count() or 1, len(given))
    with worker_pool(workers, preload) as pool:
        working = [pool.submit(_stage, one) for one in given]
        try:
            for done in working:
                done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # those that run end, no other begins
            raise
    return 0


def _notebook(arguments: argparse.Namespace) -> int:
    from memrepro.files.atomic import keep_others, root
    from memrepro.pipeline.notebook import execute
    from memrepro.site.notebook import to_page

    parameters: dict[str, Any] = {}
    for pair in arguments.parameters:
        name, equals, value = pair.partition("=")
        if not equals:
            raise MemreproError(f"-p {pair}: a parameter is given as name=value")
        parameters[name] = value
    keep_others(root() / arguments.output, '{\n "cells"')
    output = execute(arguments.name, parameters, root() / arguments.output)
    if arguments.page:
        to_page(output, root() / arguments.page)
    return 0


def _datasets(arguments: argparse.Namespace) -> int:
    import pandas as pd

    from memrepro.data.fetch import mirror_copies, mirror_folder
    from memrepro.data.registry import registrations

    mirror = mirror_folder()
    rows = []
    for key, r in registrations().items():
        there = sum(any(mirror_copies(f, mirror)) for f in r.files) if mirror else 0
        held = f"{there} of {len(r.files)}"
        held = "compiled here" if r.compiled else "put in place by hand" if r.unhashed else held
        rows.append((key, r.name, r.edition, r.licence, held, r.identity[:16]))
    columns = ["data set", "name", "edition", "licence", "files in the mirror", "identity"]
    print_table(pd.DataFrame(rows, columns=columns), arguments.json)
    return 0


def _experiments(arguments: argparse.Namespace) -> int:
    import pandas as pd

    from memrepro.study.params import load_plan

    plan = load_plan()
    rows = [
        (e.profile, e.study, key, e.dataset, e.encoder or "-", e.granularity, e.key_scheme,
         f"{e.method}.{e.retriever}", e.vary or "-")
        for key, e in plan.runs.items()
    ]  # fmt: skip
    columns = [
        "profile", "study", "experiment", "data set", "encoder", "doc", "key_scheme", "retriever",
        "sweep over",
    ]  # fmt: skip
    print_table(pd.DataFrame(rows, columns=columns), arguments.json)
    return 0


def _measure(arguments: argparse.Namespace) -> int:
    from memrepro.files.atomic import root
    from memrepro.pipeline.measure import measure

    done, published = measure(arguments.name, arguments.publish)
    print_table(done.summary, arguments.json)
    for path in () if arguments.json else (*done.outputs, *published):
        print(path.relative_to(root()))
    return 0


def _finetune(arguments: argparse.Namespace) -> int:
    from memrepro.pipeline.measure import finetune

    print_table(finetune(arguments.name))
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from memrepro.provenance import published, verify

    other = published.differences(arguments.profile)
    for row in other.itertuples():
        warn(f"{row.file}: {row.state}  {row.stage}".rstrip())
    print_table(verify.check(arguments.profile), arguments.json)
    if len(other):
        declared = "; declared" if arguments.declared else ""
        warn(f"{len(other)} files are not as published{declared}")
    return 0 if other.empty or arguments.declared else 1


# The commands by who wants them, as `--help` lists them, with what they do.
_GROUPS = {
    "Conversations of your own": {
        "try": "which method helps on your own conversations",
        "memory": "a person's memory: add, search, see, correct, delete, carry away",
    },
    "Numbers of a paper, and of this project": {
        "audit": "check the printed numbers of tables against each other",
        "why": "show where a number comes from, down to its questions",
        "verify": "compute all tables again from the rankings and compare",
        "explain": "try named protocol switches on a number that is not reproduced",
        "diff": "compare two experiments, question by question",
        "cite": "what to cite for a table or cell, as BibTeX",
        "attest": "write what this machine has: versions, verdicts, digests; or compare",
    },
    "Rankings and answers made elsewhere": {
        "score": "evaluate rankings made elsewhere, beside all committed runs",
        "export": "write a data set's corpus, queries and qrels for other systems",
        "judge": "score answers made elsewhere, by rule, judge and people's labels",
        "export-answers": "write a reading study's answers for other evaluation scripts",
    },
    "Running it": {
        "repro": "run all stages of a profile, through dvc",
        "plan": "say what a profile takes here before it runs: hours, bytes, calls",
        "read": "answer a profile's questions with language models, and judge the answers",
        "measure": "time an entry of latency or scales of params.yaml here",
        "finetune": "tune a model: an entry of tuning of params.yaml",
        "rehearse": "run the full profile here on generated data and tiny models",
        "datasets": "list the data sets: edition, licence, what the mirror holds",
        "experiments": "list the experiments of params.yaml",
        "keys": "write keys.yaml, which keys are embedded, from the runs",
        "clean": "list what can be deleted to free disk space, and delete it with --yes",
    },
    "What the stages of dvc.yaml call": {
        "stage": "do the work of one stage of dvc.yaml",
        "stages": "do the work of several, as many side by side as there are cores",
        "notebook": "execute one notebook, which shows a stage",
    },
}
# The modules that give commands their arguments; those of the others are given here.
_MODULES = {
    "repro": ("repro", "keys"),
    "provenance": ("why", "explain", "diff", "cite", "attest"),
    "outside": ("score", "export"),
    "judge": ("judge", "export-answers"),
    "read": ("read",),
    "rehearse": ("rehearse",),
    "plan": ("plan",),
    "clean": ("clean",),
    "try": ("try",),
}
_INDENT = 18  # of what a command does


def _parser(named: str | None = None) -> argparse.ArgumentParser:
    """The parser; where something is named, with the arguments of that command alone.

    Libraries take a second to import, and `--help` and most commands need few.
    """
    about = {name: text for group in _GROUPS.values() for name, text in group.items()}
    parser = argparse.ArgumentParser(
        prog="memrepro",
        usage="memrepro [-h] [--version] COMMAND ...",
        description=__doc__,
        epilog=_grouped(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", help=argparse.SUPPRESS, prog=parser.prog
    )
    known = {name: commands.add_parser(name, description=text) for name, text in about.items()}

    def add(
        name: str, action: Action, as_json: bool = True, more: str = ""
    ) -> argparse.ArgumentParser:
        command = known[name]
        command.epilog = more
        command.set_defaults(action=action)
        if as_json:
            command.add_argument("--json", action="store_true", help="print JSON")
        return command

    for module, names in _MODULES.items():
        if named is None or named in names:
            import_module(f"memrepro.pipeline.commands_{module}").add_to(add)
    if named is None or named == "memory":
        from memrepro.memory.command import add_commands

        add_commands(known["memory"])
    if named is None or named == "audit":
        from memrepro.audit import __main__ as audit

        audit.add_to(add("audit", audit.run, more=audit.MORE))
    elsewhere = {"memory", "audit", *(name for names in _MODULES.values() for name in names)}
    if named is None or named in known.keys() - elsewhere:
        _add_own(add)
    return parser


def _add_own(add: Add) -> None:
    """Add the commands of this module."""
    from memrepro.study.plan import PROFILES

    verify = add("verify", _verify)
    verify.add_argument("profile", choices=PROFILES)
    verify.add_argument(
        "--declared", action="store_true",
        help="files that differ from the last commit are meant to: they are named, and it passes",
    )  # fmt: skip
    add("datasets", _datasets)
    add("experiments", _experiments)
    measure = add("measure", _measure)
    measure.add_argument("name")
    measure.add_argument(
        "--publish", action="store_true", help="put it into results/, where reports read it"
    )
    finetune = add("finetune", _finetune, False)
    finetune.add_argument("name")
    stage = add("stage", _stage, False)
    stage.add_argument("name", help="prepare, embed, retrieve, evaluate, report, …")
    stage.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="such as a data set")
    stage.add_argument("--notebook", help="then execute the notebook that shows it, into this file")
    stage.add_argument("--page", help="also render that notebook as this HTML file")
    stages = add("stages", _stages, False)
    stages.add_argument(
        "stages", nargs="+", metavar="STAGE", help="quoted, what one `memrepro stage` is given"
    )
    notebook = add("notebook", _notebook, False)
    notebook.add_argument("name")
    notebook.add_argument(
        "-p", dest="parameters", action="append", default=[], metavar="NAME=VALUE"
    )
    notebook.add_argument("--output", required=True, help="where the executed notebook goes")
    notebook.add_argument("--page", help="also render it as this HTML file")


def _grouped() -> str:
    """The commands with what they do, by who wants them; lines of 80 characters."""
    lines: list[str] = []
    for group, commands in _GROUPS.items():
        lines += ["", f"{group}:"]
        for name, text in commands.items():
            first, *rest = textwrap.wrap(text, 80 - _INDENT)
            lines += [f"  {name:<{_INDENT - 2}}{first}", *(" " * _INDENT + line for line in rest)]
    return "\n".join([*lines[1:], "", "`memrepro COMMAND --help` says what one takes."])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 only when all is well, 1 with one sentence for what is wrong."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        with plain_output():
            # Alone, the audit needs none of the libraries that the other commands import.
            if given[:1] == ["audit"]:
                from memrepro.audit import __main__ as audit

                return audit.run(audit.parser().parse_args(given[1:]))
            if given[:1] in (["-h"], ["--help"]) and find_spec("pyarrow") is None:
                print(_ALONE)
                return 0
            arguments = _parser(next(iter(given), "")).parse_args(given)
            status: int = arguments.action(arguments)
            return status
    except MemreproError as error:
        print(f"memrepro: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if (error.name or "memrepro").startswith("memrepro"):
            raise
        print(
            f"memrepro: {error.name!r} is not installed, which `{given[0]}` needs: "
            "pip install 'memrepro[pipeline]'",
            file=sys.stderr,
        )
        return 1
    except BrokenPipeError:  # as in `| head`: nobody reads on
        return 1
    except OSError as error:  # no permission, a name that is too long, a link to itself
        named, why = error.filename or "a file", error.strerror or error
        said = MemreproError(f"{named} cannot be read or written ({why}): name another one")
        print(f"memrepro: {said}", file=sys.stderr)
        return 1
    except UnicodeEncodeError as error:  # a file's name in another encoding than the system's
        named = cut(ascii(error.object))
        print(f"memrepro: {named} names a file in no valid Unicode: rename it", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("memrepro: stopped; run the same command again to go on", file=sys.stderr)
        return 130
