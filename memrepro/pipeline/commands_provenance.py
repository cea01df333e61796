"""The commands that go from a number to its questions: why, cite, explain, diff, attest, audit."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import METRICS
from memrepro.pipeline.printing import Add, print_json, print_table, print_text
from memrepro.study.plan import PROFILES

_SHOWN = 20  # rows of a long list that people see; --json and --all have the rest
_NAME = (
    "A name is paper[:table[:row[:column]]], as in results/<profile>/<paper>/<table>.csv, quoted "
    'for the shell where it has spaces: "PAPER:table2:a row:R@5 Overall".'
)


def add_to(add: Add) -> None:
    """Add the commands to the parser."""
    why = add("why", _why, more=_NAME)
    _name(why)
    why.add_argument("--all", action="store_true", help="list every question")
    cite = add("cite", _cite, False, _NAME)
    _name(cite)
    explain = add(
        "explain", _explain,
        more=f"{_NAME} What lands on the printed value was found after the fact, and with many "
        "tries some land by chance: how many were made is said too. Nothing is retrieved.",
    )  # fmt: skip
    _name(explain)
    diff = add(
        "diff", _diff,
        more="'Won' is the second's. Both must be of the same questions. `memrepro experiments` "
        "lists the names; a sweep needs a setting: NAME[SETTING], or --setting-a and --setting-b. "
        "Interval and p are by the data set's unit, such as the conversation.",
    )  # fmt: skip
    diff.add_argument("first", metavar="EXPERIMENT_A")
    diff.add_argument("second", metavar="EXPERIMENT_B")
    diff.add_argument("--metric", choices=list(METRICS), default="recall_all")
    diff.add_argument("--k", type=int, default=10, help="the cut-off (10)")
    diff.add_argument("--level", default="", help="session, round or turn (the docs' own)")
    diff.add_argument("--protocol", default="", help="of params.yaml (its first)")
    diff.add_argument("--setting-a", default="", help="of the first, if it is a sweep")
    diff.add_argument("--setting-b", default="", help="of the second, if it is a sweep")
    diff.add_argument("--all", action="store_true", help="list every question won or lost")
    diff.add_argument(
        "--texts", action="store_true",
        help="show the texts of questions and gold docs, where the data set is prepared here",
    )  # fmt: skip
    attest = add(
        "attest", _attest,
        more="Without --compare it prints one JSON. With it the exit status is 1 where values "
        "differ, a file is missing, or verdicts are not as many of each.",
    )  # fmt: skip
    attest.add_argument("--output", type=Path, metavar="FILE", help="write the JSON there")
    attest.add_argument(
        "--compare", type=Path, nargs=2, metavar=("A", "B"), help="compare two such files"
    )


def _name(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME")
    command.add_argument("--profile", choices=PROFILES, default="", help="(the one that has it)")


def _cite(arguments: argparse.Namespace) -> int:
    from memrepro.provenance import tables
    from memrepro.provenance.cite import bibtex, used_by

    name = tables.parse(arguments.name, arguments.profile)
    if not name.table:
        raise MemreproError(f"{name} is a report: name one of its tables, as in {name}:table1")
    print(bibtex(used_by(*name)), end="")
    return 0


def _why(arguments: argparse.Namespace) -> int:
    from memrepro.provenance import tables
    from memrepro.provenance.why import cell

    name = tables.parse(arguments.name, arguments.profile)
    if name.row and name.column:
        told = cell(*name)
        if arguments.json:
            print_json(told)
        else:
            _print_provenance(told, arguments.all)
        return 0
    if not name.table:
        known = tables.tables(name.profile, name.paper)
        frame = pd.DataFrame({"table": [f"{name.paper}:{table}" for table in known]})
    else:
        cells = tables.cells(*name[:3]).values()
        shown = [c.as_dict() for c in cells if name.row in ("", c.row)]
        frame = pd.DataFrame(shown).drop(
            columns=[] if arguments.json else ["term", "note", "sources", "comparison"]
        )
    print_table(frame, arguments.json)
    return 0


def _print_provenance(told: dict[str, Any], every: bool) -> None:
    """The provenance of a number for people."""
    value = told["reproduced"] or "nothing"
    print(f"{told['name']}   ({told['profile']})\n")
    print(f"here      {value}" + (f", n = {told['n']}" if told["n"] else ""))
    print(f"reported  {told['reported'] or '-'}")
    print(f"verdict   {told['verdict'] or '-'}   {told['term']}".rstrip())
    lines = {"note": told["note"], "from": told["link"]["text"], "run by": told["would_run"],
             "metric": told["definition"]}  # fmt: skip
    for what, text in lines.items():
        if text and not (what == "from" and text == told["note"]):
            print(f"{what:<9} {text}")
    for place in told["places"][:_SHOWN]:
        run = place["experiment"] + (f" [{place['setting']}]" if place["setting"] else "")
        kind = f", questions: {place['kind']}" if place["kind"] else ""
        print(f"run       {run}, {place['metric']}@{place['k']} by {place['level']}, protocol "
              f"{place['protocol']}{kind}")  # fmt: skip
        print(f"          {place['run']}: {place['run_as_recorded']} in dvc.lock")
        print(f"          {_searched(place['searched'])}")
        if place["parameters_as_recorded"] is False:
            print("          params.yaml has changed since the run was made")
    _more(len(told["places"]), "runs")
    for file in told["files"]:
        print(f"file      {file['path']}: {file['as_recorded']} in dvc.lock")
    for reason, n in told["exclusions"].items():
        print(f"excluded  {n}: {reason}")
    for name in told["without_stage"]:
        print(f"stage     dvc.lock has none that made {name}")
    if told["command"]:
        print(f"\nmade again by: {told['command']}")
    for stage in told["stages"]:
        print(f"  {stage['stage']}\n      {stage['command']}")
    _print_hashes(told)
    environment = told["environment"]
    print("\nenvironment")
    for line in environment["recorded"]:
        print(f"  {line}")
    here = {k: v for k, v in environment["here"].items() if k != "packages"}
    print(f"  here: {', '.join(f'{k} {v}' for k, v in here.items())}")
    _print_questions(told, every)


def _searched(entry: dict[str, Any]) -> str:
    flat = {k: v for k, v in entry.items() if k != "parameters"} | entry["parameters"]
    return ", ".join(f"{name} {value}" for name, value in flat.items())


def _print_hashes(told: dict[str, Any]) -> None:
    print("\nhashes (MD5 of dvc.lock; SHA-256 of model files)")
    for group, files in told["hashes"].items():
        for path, digest in files.items():
            # What one stage writes and the next reads stands once.
            if group != "outputs" or path not in told["hashes"]["data"]:
                print(f"  {group:<10} {digest.partition('.')[0]}  {path}")
    for model in told["models"]:
        print(f"  model      {model['encoder']}, revision {model['revision']}")
        for path, digest in model["sha256"].items():
            print(f"             {digest}  {path}")


def _print_questions(told: dict[str, Any], every: bool) -> None:
    rows = told["questions"]
    if not rows:
        return
    if told["most_influential"]:
        print("\nmost influential questions (shift: what leaving one out changes of the value)\n")
        print_table(_shown(told["most_influential"]))
    if rival := told["rival"]:
        print(f"\nagainst {rival['row']}: {_compared(rival['difference'])}\n")
        print_table(pd.DataFrame(rival["most_influential"]))
    if plain := told["similarity"]:
        print(f"\nagainst plain similarity ({plain['place']['experiment']}): "
              f"{_compared(plain['difference'])}")  # fmt: skip
    print(f"\nall {len(rows)} questions\n")
    print_table(_shown(rows if every else rows[:_SHOWN]))
    if not every:
        _more(len(rows), "questions: --all lists them")


def _compared(one: Mapping[str, Any]) -> str:
    """A comparison for people: difference, interval and p by its unit, questions."""
    unit = "each question" if one["unit"] == "question" else f"whole {one['unit']}s"
    return (
        f"{one['difference']:+.4f} [{one['low']:+.4f}, {one['high']:+.4f}] (95 %), p = "
        f"{one['p']:.4f} (signs of {unit} flipped, {one['groups']:,} in all), n = {one['n']:,}: "
        f"won {one['won']}, lost {one['lost']}, tied {one['tied']}"
    )


def _shown(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Questions with their gold's ranks in one column; '-' is not in the run."""
    frame = pd.DataFrame(rows)
    if "gold" in frame:
        ranks = [[gold["rank"] for gold in one] for one in frame.pop("gold")]
        frame["gold's ranks"] = [", ".join("-" if r is None else str(r) for r in one)
                                 for one in ranks]  # fmt: skip
    return frame


def _more(count: int, what: str) -> None:
    if count > _SHOWN:
        print(f"… and {count - _SHOWN} more {what}")


def _explain(arguments: argparse.Namespace) -> int:
    from memrepro.provenance import tables
    from memrepro.provenance.explain import AFTER, explain

    name = tables.parse(arguments.name, arguments.profile)
    if not name.column:
        raise MemreproError(
            f"{name} is no single cell: write DOCUMENT:TABLE:ROW:COLUMN; `memrepro why {name}` "
            "lists what there is"
        )
    cell = tables.cells(*name[:3])[name.row, name.column]
    found = explain(*name[:3], cell)
    if arguments.json:
        print_json({"name": str(name), **cell.as_dict(), **found.as_dict()})
        return 0
    print(f"{name}   ({name.profile})\n")
    print(f"printed {cell.reported}, here {cell.reproduced}: {cell.verdict}")
    gives = ", which gives the printed value as it is" if found.already else ""
    print(f"own place: {found.own}{gives}\n")
    counts = ", ".join(f"{n} with {k}" for k, n in found.by_switches.items())
    print(f"{found.tried} tried ({counts} switches), {found.distinct} different values; a number "
          f"at random among them would be hit with {found.chance:.1%}")  # fmt: skip
    if not found.landed:
        print("none of them gives the printed value")
        return 0
    if len(found.landed) == 1:
        print(f"one gives the printed value, {AFTER}\n")
    else:
        print(
            f"{len(found.landed)} give the printed value, all {AFTER}; those that give most of "
            "the row's printed cells too stand first\n"
        )
    rows = [
        {"switches": "; ".join(one.switches), "value": f"{one.value:.6f}", "n": one.n,
         "of the row": f"{1 + one.also} of {1 + found.others}", "place": str(one.place),
         "mark": AFTER}
        for one in found.landed[:_SHOWN]
    ]  # fmt: skip
    print_table(pd.DataFrame(rows))
    _more(len(found.landed), "that land")
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    from memrepro.provenance import diff

    one, other = (
        diff.place(name, setting, arguments.level, arguments.metric, arguments.k,
                   arguments.protocol)
        for name, setting in (
            (arguments.first, arguments.setting_a), (arguments.second, arguments.setting_b),
        )
    )  # fmt: skip
    found, rows = diff.compare(one, other), diff.questions(one, other)
    shown = rows
    if not (arguments.all or arguments.json):  # some of each side, so that neither hides the other
        shown = rows.groupby("change", sort=False).head(_SHOWN // 2)
    texts = diff.texts(one, shown["query_id"].tolist()) if arguments.texts else {}
    if arguments.json:
        plain = rows.astype(object).where(rows.notna(), None)  # JSON has no NaN
        answer = found.as_dict() | {"questions": plain.to_dict("records")}
        print_json(answer | ({"texts": texts} if arguments.texts else {}))
        return 0
    print(f"first   {one}: {found.mean_first:.4f}\nsecond  {other}: {found.mean_second:.4f}")
    print(f"second − first: {_compared(found.comparison.as_dict())}\n")
    print_table(shown.dropna(axis="columns", how="all").fillna("-"))
    if len(shown) < len(rows):
        print(f"… and {len(rows) - len(shown)} more won or lost: --all lists them")
    for query_id, named in texts.items():
        print_text(f"\n{query_id}: {named.pop('question')}")
        for doc_id, text in named.items():
            print_text(f"  gold {doc_id}:\n    " + "\n    ".join(text.strip().splitlines()))
    return 0


def _attest(arguments: argparse.Namespace) -> int:
    from memrepro.files.atomic import keep_others, write_json
    from memrepro.provenance import attest

    if not arguments.compare:
        if arguments.output:
            keep_others(arguments.output, '{\n "environment": {')
        found = attest.attest()
        if arguments.output:
            write_json(arguments.output, found)
        else:
            print_json(found)
        return 0
    first, second = map(attest.read, arguments.compare)
    agree = attest.agree(first, second)
    parts = {
        "environment": attest.machines(first, second),
        "verdicts": attest.verdict_changes(first, second),
        "files": attest.files(first, second),
    }
    if arguments.json:
        print_json({"agree": agree} | {k: v.to_dict("records") for k, v in parts.items()})
        return 0 if agree else 1
    states = parts["files"]["state"].value_counts().rename_axis("state").reset_index(name="files")
    print_table(states)
    differ = parts["files"][parts["files"]["state"].isin(attest.DISAGREE)]
    for title, frame in (
        ("files that differ", differ), ("verdicts that differ", parts["verdicts"]),
        ("machines", parts["environment"]),
    ):  # fmt: skip
        if len(frame):
            print(f"\n{title}\n")
            print_table(frame)
    print(f"\nthe two {'agree' if agree else 'do not agree'}")
    return 0 if agree else 1
