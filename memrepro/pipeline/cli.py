"""The command line: `python -m memrepro`. Tables for people, `--json` for programs."""

import argparse
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro import __version__
from memrepro.audit import __main__ as audit
from memrepro.errors import MemreproError
from memrepro.pipeline.printing import Action, plain_output, print_table, warn

_ALONE = """usage: memrepro audit [-h] [--json] … FILE

  audit   check the printed numbers of a paper's tables (memrepro audit --help)

Some libraries of the other commands (repro, verify, why, memory, …) are not installed here:
pip install 'memrepro[pipeline]'."""


def _repro(arguments: argparse.Namespace) -> int:
    from memrepro.cluster.workers import VARIABLE, address, opened
    from memrepro.files import paths
    from memrepro.files.atomic import root
    from memrepro.pipeline import dvc
    from memrepro.pipeline.plan.stages import last_stage
    from memrepro.study.embedding import write_keys
    from memrepro.study.params import load_plan

    plan = load_plan()
    write_keys(plan)
    # Stages call `python`: the one that runs this command comes first.
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    # Else each stage compiles all that it imports, which takes longer than the stage.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with opened(arguments.cluster or address() or plan.cluster) as environment[VARIABLE]:
        status = dvc.repro(last_stage(arguments.profile), environment)
    if status != 0:
        print(
            f"memrepro: the profile {arguments.profile!r} is not complete; see the error above "
            "(what was done is kept: run the same command again)",
            file=sys.stderr,
        )
        return 1
    for paper in plan.papers(arguments.profile):
        page = paths.build_folder(arguments.profile) / f"{paper}.html"
        tables = paths.results(arguments.profile) / paper
        print(f"report: {page.relative_to(root())}   tables: {tables.relative_to(root())}/")
    return 0


def _stage(arguments: argparse.Namespace) -> int:
    from memrepro.pipeline.stage import run_stage

    for done in run_stage(arguments.name, arguments.arguments):
        print_table(done.table)
    return 0


def _notebook(arguments: argparse.Namespace) -> int:
    from memrepro.files.atomic import root
    from memrepro.pipeline.notebook import execute
    from memrepro.site.notebook import to_page

    parameters: dict[str, Any] = {}
    for pair in arguments.parameters:
        name, equals, value = pair.partition("=")
        if not equals:
            raise MemreproError(f"-p {pair}: a parameter is given as name=value")
        parameters[name] = value
    output = execute(arguments.name, parameters, root() / arguments.output)
    if arguments.page:
        to_page(output, root() / arguments.page)
    return 0


def _datasets(arguments: argparse.Namespace) -> int:
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


def _keys(arguments: argparse.Namespace) -> int:
    from memrepro.study.embedding import keys_file, write_keys
    from memrepro.study.params import load_plan

    changed = write_keys(load_plan())
    print(f"{keys_file().name} {'is written anew' if changed else 'follows from the runs'}")
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


# The commands by who wants them, as `--help` lists them.
_GROUPS = {
    "Conversations of your own": ("try", "memory"),
    "Numbers of a paper, and of this project": (
        "audit", "why", "verify", "explain", "diff", "cite", "attest",
    ),
    "Rankings and answers made elsewhere": ("score", "export", "judge", "export-answers"),
    "Running it": (
        "repro", "plan", "read", "measure", "finetune", "rehearse", "datasets", "experiments",
        "keys", "clean",
    ),
    "What the stages of dvc.yaml call": ("stage", "notebook"),
}  # fmt: skip
_INDENT = 18  # of what a command does


def _parser() -> argparse.ArgumentParser:
    from memrepro.memory.command import add_commands
    from memrepro.pipeline import (
        commands_clean,
        commands_judge,
        commands_outside,
        commands_plan,
        commands_provenance,
        commands_read,
        commands_rehearse,
        commands_try,
    )
    from memrepro.study.plan import PROFILES

    parser = argparse.ArgumentParser(
        prog="memrepro",
        usage="memrepro [-h] [--version] COMMAND ...",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", help=argparse.SUPPRESS)

    def add(
        name: str, action: Action, description: str, as_json: bool = True, more: str = ""
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(name, description=description, epilog=more)
        command.set_defaults(action=action)
        if as_json:
            command.add_argument("--json", action="store_true", help="print JSON")
        return command

    repro = add("repro", _repro, "run all stages of a profile, through dvc", False)
    repro.add_argument("profile", choices=PROFILES)
    repro.add_argument(
        "--cluster", default="", metavar="ADDRESS",
        help="embed, extract and ask models in process on Ray: host:port, or local:N to try it",
    )  # fmt: skip
    verify = add("verify", _verify, "compute all tables again from the rankings and compare")
    verify.add_argument("profile", choices=PROFILES)
    verify.add_argument(
        "--declared", action="store_true",
        help="files that differ from the last commit are meant to: they are named, and it passes",
    )  # fmt: skip
    add("datasets", _datasets, "list the data sets: edition, licence, what the mirror holds")
    add("experiments", _experiments, "list the experiments of params.yaml")
    add("keys", _keys, "write keys.yaml, which keys are embedded, from the runs", False)
    measure = add("measure", _measure, "time an entry of latency or scales of params.yaml here")
    measure.add_argument("name")
    measure.add_argument(
        "--publish", action="store_true", help="put it into results/, where reports read it"
    )
    finetune = add("finetune", _finetune, "tune a model: an entry of tuning of params.yaml", False)
    finetune.add_argument("name")
    commands_provenance.add_to(add)
    commands_outside.add_to(add)
    commands_judge.add_to(add)
    commands_read.add_to(add)
    commands_rehearse.add_to(add)
    commands_plan.add_to(add)
    commands_clean.add_to(add)
    commands_try.add_to(add)
    add_commands(commands)
    stage = add("stage", _stage, "do the work of one stage of dvc.yaml", False)
    stage.add_argument("name", help="prepare, embed, retrieve, evaluate, report, …")
    stage.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="such as a data set")
    notebook = add("notebook", _notebook, "execute one notebook, which shows a stage", False)
    notebook.add_argument("name")
    notebook.add_argument(
        "-p", dest="parameters", action="append", default=[], metavar="NAME=VALUE"
    )
    notebook.add_argument("--output", required=True, help="where the executed notebook goes")
    notebook.add_argument("--page", help="also render it as this HTML file")
    parser.epilog = _grouped({name: str(one.description) for name, one in commands.choices.items()})
    return parser


def _grouped(commands: Mapping[str, str]) -> str:
    """The commands with what they do, by who wants them; lines of 80 characters."""
    lines: list[str] = []
    for group, names in _GROUPS.items():
        lines += ["", f"{group}:"]
        for name in names:
            first, *rest = textwrap.wrap(commands[name], 80 - _INDENT)
            lines += [f"  {name:<{_INDENT - 2}}{first}", *(" " * _INDENT + line for line in rest)]
    return "\n".join([*lines[1:], "", "`memrepro COMMAND --help` says what one takes."])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 only when all is well, 1 with one sentence for what is wrong."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        with plain_output():
            # Alone, the audit needs none of the libraries that the other commands import.
            if given[:1] == ["audit"]:
                return audit.run(audit.parser().parse_args(given[1:]))
            arguments = _parser().parse_args(given)
            status: int = arguments.action(arguments)
            return status
    except MemreproError as error:
        print(f"memrepro: {error}", file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f"memrepro: {error.filename or error} cannot be read or written", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if (error.name or "memrepro").startswith("memrepro"):
            raise
        if given[:1] in (["-h"], ["--help"]):
            print(_ALONE)
            return 0
        print(
            f"memrepro: {error.name!r} is not installed, which `{given[0]}` needs: "
            "pip install 'memrepro[pipeline]'",
            file=sys.stderr,
        )
        return 1
    except BrokenPipeError:  # as in `| head`: nobody reads on
        return 1
    except KeyboardInterrupt:
        print("memrepro: stopped; run the same command again to go on", file=sys.stderr)
        return 130
