"""Real papers as they are and with slips: what the audit finds, what it cries wolf about.

    python benchmarks/audit_slips.py FOLDER … [--judged CSV] [--slips N] [--seed S] [--json FILE]

A folder holds one paper's sources a sub-folder; nothing is fetched. First the papers as they are:
every *certain* and *likely* finding, each with what a person judged of it in `--judged` (paper,
table, rule, where, judged: real, open, false), and the papers with a false one. Then slips: a table
is taken in which printed numbers determine each other (found here by trying, not by the audit's
rules: a column that is another two's difference, a row or column that is the sum or mean of the
others, an F of P and R, a count with its percentage, a bold best, a p of its statistic), one number
of it is changed so that it no longer follows, and the audit must find that place.
"""

import argparse
import json
import re
import time
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from memrepro.audit.check import report_of
from memrepro.audit.consistency import findings, of_texts
from memrepro.audit.finding import CERTAIN, FAILS, LIKELY, Finding
from memrepro.audit.read.files import Read, tables_of
from memrepro.audit.tables import Table

_NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?%?")
_TEST = re.compile(r"\bt\((\d+)\)\s*=\s*(-?\d+\.\d+),\s*p\s*=\s*(0?\.\d{2,3})")
_TOTAL = re.compile(r"\btotal\b|\bsum\b|\ball\b|\boverall\b")
_AVERAGE = re.compile(r"\bavg|average|\bmean\b|\boverall\b|\ball\b")
_PORTION = re.compile(r"(\d+)\s*\((\d{1,2}(?:\.\d+)?)\s*\\?%\)")
Cells = dict[tuple[str, str], str]


class Slip(NamedTuple):
    """A changed table: its kind, the changed cells, and the cells that then do not agree."""

    kind: str
    cells: Cells
    marks: dict[str, Any]
    lines: frozenset[str]


def number(shown: str) -> tuple[float, float] | None:
    """A cell that is one plain number, and half a unit of its last digit."""
    text = shown.strip().replace("−", "-").rstrip("*").replace(",", "")
    if not _NUMBER.fullmatch(text):
        return None
    digits = len(text.rstrip("%").partition(".")[2])
    return float(text.rstrip("%")), 0.5 * 10.0**-digits


def relations(table: Table) -> Iterator[tuple[str, list[tuple[str, str]], tuple[str, str]]]:
    """Kind, the cells that determine a cell, and that cell, where at least three places agree."""
    grid = {(r, c): number(s) for r, c, s in table.cells()}
    rows, columns = list(table.rows), table.columns
    for across in (False, True):
        lines, places = (rows, columns) if across else (columns, rows)
        if len(lines) > 14 or len(places) < 3:
            continue

        def at(line: str, place: str, across: bool = across) -> tuple[str, str]:
            return (line, place) if across else (place, line)

        for target in lines:
            others = [one for one in lines if one != target]
            tried: list[tuple[str, list[str]]] = []
            name = target.lower()
            if re.search(r"Δ|δ|\bdiff(?:erence)?s?\b|gain|impro|delta|change", name):
                tried += [("delta", [a, b]) for a, b in permutations(others, 2)]
            group = [o for o in others if o.rpartition(", ")[0] == target.rpartition(", ")[0]]
            for pattern, kind in ((_TOTAL, "total"), (_AVERAGE, "average")):
                if pattern.search(name):
                    tried += [(kind, own) for own in (others, group) if len(own) > 1]
            if re.search(r"\bF-?1?\b", target) and len(others) > 1:
                tried += [("F1", [a, b]) for a, b in permutations(others, 2) if a < b]
            for kind, parts in tried:
                made = []
                for place in places:
                    values = [grid[at(part, place)] for part in parts]
                    whole = grid[at(target, place)]
                    if whole is None or any(v is None for v in values):
                        continue
                    if not any(v[0] for v in (*values, whole)):
                        continue  # 0 − 0 = 0 holds of any three lines
                    made.append((place, _agrees(kind, values, whole)))
                good = [place for place, ok in made if ok]
                if len(good) >= 3 and len(good) >= 0.8 * len(made):
                    for place in good:
                        yield kind, [at(part, place) for part in parts], at(target, place)
                    break


def _agrees(kind: str, parts: list[Any], whole: tuple[float, float]) -> bool:
    values, rooms = (np.array(one) for one in zip(*parts, strict=True))
    low, high = values - rooms, values + rooms
    if kind == "delta":
        ends = low[0] - high[1], high[0] - low[1]
    elif kind == "F1":
        if min(values) <= 0:
            return False
        ends = tuple(2 * x[0] * x[1] / (x[0] + x[1]) for x in (low, high))
    else:
        ends = low.sum(), high.sum()
        if kind == "average":
            ends = ends[0] / len(values), ends[1] / len(values)
    return bool(ends[0] <= whole[0] + whole[1] + 1e-9 and ends[1] >= whole[0] - whole[1] - 1e-9)


def _changed(rng: np.random.Generator, shown: str) -> str:
    """A string with one of its digits another, or two neighbours exchanged."""
    places = [i for i, c in enumerate(shown) if c.isdigit()]
    pairs = [i for i in places if i + 1 in places and shown[i] != shown[i + 1]]
    if pairs and rng.random() < 0.3:
        i = int(rng.choice(pairs))
        return shown[:i] + shown[i + 1] + shown[i] + shown[i + 2 :]
    i = int(rng.choice(places[:3]))
    digit = (int(shown[i]) + int(rng.integers(1, 10))) % 10
    return f"{shown[:i]}{digit}{shown[i + 1 :]}"


def slips(table: Table, rng: np.random.Generator, most: int) -> Iterator[Slip]:
    """Slips in a table that contradict something that it prints, at most some of each kind."""
    found = list(relations(table))
    rng.shuffle(found)
    counted: dict[str, int] = {}
    for kind, parts, target in found:
        if counted.get(kind, 0) >= most:
            continue
        for what in (kind, "digit", "swap"):
            cells = {(r, c): s for r, c, s in table.cells()}
            place = target if what == kind else parts[int(rng.integers(len(parts)))]
            if what == "swap":
                other, place = place, target
                cells[place], cells[other] = cells[other], cells[place]
            else:
                cells[place] = _changed(rng, cells[place])
            values = [number(cells[part]) for part in parts]
            whole = number(cells[target])
            if whole is None or None in values or _agrees(kind, values, whole):
                continue
            counted[kind] = counted.get(kind, 0) + 1
            yield Slip(what, cells, {}, frozenset({*target, *place}))
    yield from _bold(table, rng, most)
    yield from _portions(table, rng, most)


def _bold(table: Table, rng: np.random.Generator, most: int) -> Iterator[Slip]:
    """The bold of a column on another row, where three columns mark one best each."""
    bold = table.reading.get("bold", {})
    good = []
    for column in table.columns:
        values = {r: n[0] for r, cells in table.rows.items() if (n := number(cells[column]))}
        marked = [r for r, cs in bold.items() if column in cs and len(cs) < len(table.columns)]
        if len(values) < 3 or len(marked) != 1 or marked[0] not in values:
            continue
        if values[marked[0]] in (max(values.values()), min(values.values())):
            good.append((column, marked[0], values))
    if len(good) < 4:
        return
    rng.shuffle(good)
    for column, was, values in good[:most]:
        middle = [r for r, v in values.items() if min(values.values()) < v < max(values.values())]
        if middle:
            row = str(rng.choice(middle))
            marks = {r: [c for c in cs if (r, c) != (was, column)] for r, cs in bold.items()}
            marks[row] = [*marks.get(row, []), column]
            cells = {(r, c): s for r, c, s in table.cells()}
            yield Slip("bold", cells, marks, frozenset({row, column}))


def _portions(table: Table, rng: np.random.Generator, most: int) -> Iterator[Slip]:
    """A digit of a percentage beside its count, where four of a column are of one number."""
    for column in table.columns:
        own = {r: found for r, cells in table.rows.items()
               if (found := _PORTION.fullmatch(cells[column].strip()))}  # fmt: skip
        room = {r: 0.5 * 10.0 ** -len(f[2].partition(".")[2]) for r, f in own.items()}
        spans = {r: [100 * int(f[1]) / (float(f[2]) + s * room[r]) for s in (1, -1)]
                 for r, f in own.items() if int(f[1])}  # fmt: skip
        if len(spans) < 4:
            continue
        low, high = max(s[0] for s in spans.values()), min(s[1] for s in spans.values())
        if low > high:
            continue
        for row in rng.permutation(list(spans))[:most]:
            found = own[str(row)]
            cells = {(r, c): s for r, c, s in table.cells()}
            part = _changed(rng, found[2])
            cells[str(row), column] = f"{found[1]} ({part}%)"
            if not 100 * int(found[1]) / (float(part) + 0.5) <= high or float(part) == float(
                found[2]
            ):
                yield Slip("percent", cells, {}, frozenset({str(row), column}))


def with_slip(table: Table, slip: Slip) -> Table:
    """The table with its slip."""
    rows = {r: {c: slip.cells[r, c] for c in table.columns} for r in table.rows}
    reading = {**table.reading, **({"bold": slip.marks} if slip.kind == "bold" else {})}
    return Table(table.document, table.name, rows, reading)


def p_slips(text: str, rng: np.random.Generator, most: int) -> Iterator[str]:
    """A text with one p that no longer follows from its t."""
    plain = text.replace("$", "")
    for found in list(_TEST.finditer(plain))[:most]:
        p = 2 * stats.t.sf(abs(float(found[2])), float(found[1]))
        if abs(p - float(found[3])) < 0.01:
            other = f"{min(0.97, 2.6 * p + 0.05 + 0.2 * rng.random()):.2f}"
            yield plain[: found.start(3)] + other + plain[found.end(3) :]


def told(made: list[Finding]) -> set[tuple[str, ...]]:
    """The findings of a level that a person is shown."""
    return {(f.table, f.rule, f.where, f.printed) for f in made
            if f.words == FAILS and f.sure in (CERTAIN, LIKELY)}  # fmt: skip


def of_paper(name: str, read: Read, most: int, seed: int) -> tuple[list[dict], list[dict]]:
    """The findings of a paper as it is, and what became of each slip."""
    began = time.process_time()
    report = report_of(read)
    seconds = time.process_time() - began
    clean = [{"paper": name, "table": f.table, "rule": f.rule, "where": f.where, "sure": f.sure,
              "printed": f.printed, "expected": f.expected, "seconds": seconds}
             for f in report.failing(LIKELY)]  # fmt: skip
    made = []
    rng = np.random.default_rng(seed)
    for table in read.tables:
        before: set[tuple[str, ...]] | None = None
        for slip in slips(table, rng, most):
            before = told(findings([table])) if before is None else before
            new = told(findings([with_slip(table, slip)])) - before
            hit = any(set(re.split(", |; ", w)) & _words(slip.lines) for _, _, w, _ in new)
            made.append({"paper": name, "table": table.name, "kind": slip.kind, "found": bool(new),
                         "there": hit})  # fmt: skip
    for file, text in read.texts.items():
        before = told(of_texts(name, {file: text}))
        for changed in p_slips(text, rng, most):
            new = told(of_texts(name, {file: changed})) - before
            made.append({"paper": name, "table": file, "kind": "p", "found": bool(new),
                         "there": bool(new)})  # fmt: skip
    return clean, made


def _words(lines: frozenset[str]) -> set[str]:
    return {part for line in lines for part in line.split(", ")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--judged", type=Path)
    parser.add_argument("--slips", type=int, default=2, help="of a kind and table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    clean, made, tables, papers = [], [], 0, 0
    for folder in arguments.folders:
        for paper in sorted(p for p in folder.iterdir() if p.is_dir()):
            read = tables_of(paper)
            own = of_paper(paper.name, read, arguments.slips, arguments.seed)
            clean, made = clean + own[0], made + own[1]
            tables, papers = tables + len(read.tables), papers + 1
    print(summary(clean, made, papers, tables, arguments.judged))
    if arguments.json:
        arguments.json.write_text(json.dumps({"clean": clean, "slips": made}, indent=0))


def summary(
    clean: list[dict], made: list[dict], papers: int, tables: int, judged: Path | None
) -> str:  # fmt: skip
    """The rates: papers with a false finding, and slips found by kind."""
    lines = [f"{papers} papers, {tables} tables read"]
    frame = pd.DataFrame(clean, columns=["paper", "table", "rule", "where", "sure", "printed"])
    if judged:
        keys = ["paper", "rule", "where"]
        frame = frame.merge(pd.read_csv(judged, dtype=str)[[*keys, "judged"]], "left", keys)
    else:
        frame["judged"] = ""
    frame["judged"] = frame["judged"].fillna("not judged")
    for sure, own in frame.groupby("sure"):
        counts = own["judged"].value_counts().to_dict()
        false = own.loc[own["judged"] == "false", "paper"].nunique()
        lines.append(f"{sure}: {len(own)} findings {counts}; papers with a false one: {false}")
    if made:
        by = pd.DataFrame(made).groupby("kind")["found"].agg(["size", "sum"])
        lines += [by.to_string(), f"found: {by['sum'].sum()} of {by['size'].sum()}"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
