"""What the audit catches and what it cries wolf about: made tables, clean and with one slip.

    python benchmarks/audit.py [--tables N] [--seed S] [--only FAMILIES] [--clean] [--json FILE]
    python benchmarks/audit.py --of FILE FILE … [--rates CSV]   # what several such runs counted
    python benchmarks/audit.py --paper 30      # one of 30 tables in LaTeX, read and audited

A table is drawn from true counts: three to eight rows, three to five parts and mostly their whole,
one or two cut-offs, shares of one to four digits or percentages, rounded or cut off, the whole over
all questions (micro), the mean of its parts (macro) or none. Its caption states the numbers of
questions or not. Then one of eight slips is put into it. A slip is *visible* if the printed numbers
contradict each other for one who knows the true sizes: no audit can find the others. `--only`
others makes the tables and sentences of `audit_others`, for the rules that are not of shares.

`--rates` writes how many clean tables each rule flagged, which `audit/rates.py` reads.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import chain, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
from audit_others import DRAWN
from audit_others import Made as Other

from memrepro.audit.check import audit_file
from memrepro.audit.consistency import findings
from memrepro.audit.finding import CERTAIN, FAILS, LIKELY, WEAK
from memrepro.audit.rates import ANY_RULE, COLUMNS, NOT_STATED, STATED
from memrepro.audit.rules.text import sentences
from memrepro.audit.tables import Table, table_of

PARTS = ("Single", "Multi", "Temporal", "Update", "Preference")
# Digits after the point of a share, how often, and whether as a percentage (two digits fewer).
PRINTED = {
    "1 digit": (1, False, 0.05),
    "2 digits": (2, False, 0.10),
    "3 digits": (3, False, 0.25),
    "4 digits": (4, False, 0.30),
    "percent, 1 digit": (3, True, 0.20),
    "percent, 2 digits": (4, True, 0.10),
}
SLIPS = (
    "digit", "transposed", "exchanged", "other row", "cut-offs exchanged", "stale whole",
    "decimal point", "neighbour copied",
)  # fmt: skip


class Made(NamedTuple):
    """A made table, its truth and its shape; `counts` has shape (rows, cut-offs, parts)."""

    columns: list[str]
    rows: dict[str, list[str]]
    counts: np.ndarray
    sizes: np.ndarray
    average: str
    printed: str
    stated: bool
    cut: bool

    @property
    def shape(self) -> str:
        rows, depths, parts = self.counts.shape
        return f"{rows} rows, {parts} parts, {depths} cut-off{'s' * (depths > 1)}"

    def table(self) -> Table:
        entry = {"columns": self.columns, "rows": self.rows}
        if self.stated:
            total = int(self.sizes.sum())
            entry["n"] = {p: int(n) for p, n in zip(PARTS, self.sizes, strict=False)}
            if self.average == "micro":
                entry["n"]["Overall"] = total
        return table_of("made", "table", entry)


def shown(right: int, n: int, printed: str, cut: bool) -> str:
    digits, percent, _ = PRINTED[printed]
    units = right * 10**digits // n if cut else (2 * right * 10**digits + n) // (2 * n)
    after = digits - 2 if percent else digits
    return f"{units / 10**after:.{after}f}"


def drawn(rng: np.random.Generator) -> Made:
    kinds = list(PRINTED)
    printed = kinds[rng.choice(len(kinds), p=[PRINTED[k][2] for k in kinds])]
    rows, depths, parts = int(rng.integers(3, 9)), int(rng.integers(1, 3)), int(rng.integers(3, 6))
    average = ("micro", "macro", "none")[rng.choice(3, p=[0.6, 0.25, 0.15])]
    sizes = np.exp(rng.uniform(np.log(20), np.log(400), parts)).astype(int)
    ease = rng.normal(0, 0.8, parts)
    skill = rng.normal(0, 0.7, rows)
    counts = np.empty((rows, depths, parts), int)
    for r in range(rows):
        p = 1 / (1 + np.exp(-(skill[r] + ease + rng.normal(0, 0.2, parts))))
        counts[r, 0] = rng.binomial(sizes, p)
        for d in range(1, depths):
            counts[r, d] = counts[r, d - 1] + rng.binomial(sizes - counts[r, d - 1], 0.35)
    cut, stated = bool(rng.random() < 0.1), bool(rng.random() < 0.5)
    return Made(*_printed(counts, sizes, average, printed, cut), counts, sizes, average, printed,
                stated, cut)  # fmt: skip


def _printed(counts, sizes, average, printed, cut):
    rows, depths, _ = counts.shape
    metric = "Acc" if depths == 1 else "R@{}"
    total, heads, cells = int(sizes.sum()), [], {f"method {r + 1}": [] for r in range(rows)}
    for d in range(depths):
        name = metric.format((5, 10)[d])
        heads += [f"{name} {part}" for part in PARTS[: len(sizes)]]
        heads += {"micro": [f"{name} Overall"], "macro": [f"{name} Average"], "none": []}[average]
        for r, row in enumerate(cells.values()):
            own = counts[r, d]
            row += [shown(int(k), int(n), printed, cut) for k, n in zip(own, sizes, strict=True)]
            if average == "micro":
                row.append(shown(int(own.sum()), total, printed, cut))
            elif average == "macro":
                # The mean of fractions over one denominator, so that a half is a half.
                common = int(np.lcm.reduce(sizes.astype(object)))
                top = sum(int(k) * (common // int(n)) for k, n in zip(own, sizes, strict=True))
                row.append(shown(top, common * len(sizes), printed, cut))
    return heads, cells


def slipped(made: Made, kind: str, rng: np.random.Generator) -> Made | None:
    """The table with one slip, or None where it has no place for it."""
    rows = {row: list(cells) for row, cells in made.rows.items()}
    depths, parts = made.counts.shape[1:]
    wide = len(made.columns) // depths
    for _ in range(50):
        row, d, j = rng.choice(list(rows)), int(rng.integers(depths)), int(rng.integers(parts))
        cells, at = list(made.rows[row]), int(rng.integers(depths)) * wide + j
        old = cells[at]
        digits = [i for i, c in enumerate(old) if c.isdigit() and not (i == 0 and c == "0")]
        if kind == "digit" and digits:
            i = int(rng.choice(digits))
            cells[at] = old[:i] + str(rng.integers(10)) + old[i + 1 :]
        elif kind == "transposed":
            pairs = [i for i in range(len(old) - 1) if old[i : i + 2].isdigit()]
            if pairs:
                i = int(rng.choice(pairs))
                cells[at] = old[:i] + old[i + 1] + old[i] + old[i + 2 :]
        elif kind == "exchanged":
            other = at - j + int(rng.integers(parts))
            cells[at], cells[other] = cells[other], cells[at]
        elif kind == "other row":
            cells[at] = made.rows[str(rng.choice(list(rows)))][at]
        elif kind == "cut-offs exchanged" and depths == 2:
            cells[j], cells[j + wide] = cells[j + wide], cells[j]
        elif kind == "stale whole" and made.average != "none":
            at = d * wide + parts
            step = 10.0 ** -len(cells[at].partition(".")[2])
            width = 0.03 * (100 if PRINTED[made.printed][1] else 1)
            moved = float(cells[at]) + rng.normal(0, max(width, step))
            cells[at] = f"{abs(moved):.{len(cells[at].partition('.')[2])}f}"
        elif kind == "decimal point":
            after = len(old.partition(".")[2])
            cells[at] = f"{float(old) / 10:.{after}f}"
        elif kind == "neighbour copied":
            cells[at] = cells[at + 1 if j + 1 < wide else at - 1]
        if cells != made.rows[row]:
            rows[row] = cells
            return made._replace(rows=rows)
    return None


def visible(made: Made) -> bool:
    """Whether the cells contradict each other for one who knows sizes, way and average."""
    depths = made.counts.shape[1]
    wide = len(made.columns) // depths
    digits, percent, _ = PRINTED[made.printed]
    scale, sizes = 10**digits, [int(n) for n in made.sizes]

    def span(cell: str, n: int) -> tuple[int, int] | None:
        units = round(float(cell) * (scale // 100 if percent else scale))
        least = -(-units * n // scale) if made.cut else -(-((2 * units - 1) * n) // (2 * scale))
        most = (
            ((units + 1) * n - 1) // scale if made.cut else ((2 * units + 1) * n - 1) // (2 * scale)
        )
        return (max(least, 0), min(most, n)) if max(least, 0) <= min(most, n) else None

    for cells in made.rows.values():
        before: list[tuple[int, int]] = []
        for d in range(depths):
            own = cells[d * wide : (d + 1) * wide]
            spans = [span(cell, n) for cell, n in zip(own, sizes, strict=False)]
            if None in spans:
                return True
            if any(b[0] > s[1] for b, s in zip(before, spans, strict=False)):
                return True
            before = spans
            units = float(own[-1]) * (0.01 if percent else 1)
            low, high = (0, 1) if made.cut else (-0.5, 0.5)
            if made.average == "micro":
                ends = [sum(s[i] for s in spans) / sum(sizes) for i in (0, 1)]
            elif made.average == "macro":
                ends = [
                    np.mean([s[i] / n for s, n in zip(spans, sizes, strict=True)]) for i in (0, 1)
                ]
            else:
                continue
            if (
                ends[1] * scale < units * scale + low - 1e-6
                or ends[0] * scale > units * scale + high + 1e-6
            ):
                return True
    return False


def judged(made: Made, kind: str, number: int, seed: int) -> dict:
    return {
        "seed": seed, "number": number, "slip": kind,
        "family": STATED if made.stated else NOT_STATED,
        "stated": made.stated, "average": made.average, "printed": made.printed,
        "shape": made.shape, "visible": kind != "" and visible(made), **audited(made.table()),
    }  # fmt: skip


def audited(made: Other) -> dict:
    """How sure the surest finding is, and the rules with how sure each is."""
    start = time.perf_counter()
    found = (
        [f for rule in sentences.OF_TEXT for f in rule("made", "text", made)]
        if isinstance(made, str)
        else findings(made if isinstance(made, list) else [made])
    )
    found = [f for f in found if f.words == FAILS]
    sure = [level for level in (CERTAIN, LIKELY, WEAK) if any(f.sure == level for f in found)]
    return {
        "sure": sure[0] if sure else "", "seconds": time.perf_counter() - start,
        "rules": sorted({(f.rule, f.sure) for f in found}),
    }  # fmt: skip


def others(number: int, seed: int, only: str, clean: bool) -> Iterator[dict]:
    """One of each kind beside shares, or of one kind only, clean and with a slip."""
    for place, (family, draw) in enumerate(DRAWN.items()):
        if only not in ("others", family):
            continue
        for slip in (False,) if clean else (False, True):
            rng = np.random.default_rng([seed, number, place])
            yield {"seed": seed, "number": number, "slip": "one" * slip, "family": family,
                   **audited(draw(rng, slip))}  # fmt: skip


def shares(tables: int, seed: int, only: str, clean: bool) -> Iterator[dict]:
    """Tables of shares, each clean and with one slip."""
    for made, kind, number in cases(tables, seed):
        if clean and kind:
            continue
        if not only or only == ("stated" if made.stated else "not stated"):
            yield judged(made, kind, number, seed)


def by_rule(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns as in `rates.COLUMNS`: a row a rule, how sure it is, and family, where it told."""
    counted = frame.assign(clean=frame["slip"] == "", table=range(len(frame)))
    of = counted.groupby(["family", "clean"]).size()
    told = counted.explode("rules").dropna(subset="rules")
    told = told.assign(rule=told["rules"].str[0], sure=told["rules"].str[1])
    every = told.assign(rule=ANY_RULE).drop_duplicates(["table", "sure"])
    rows = []
    keys = ["rule", "sure", "family"]
    for key, group in pd.concat([every, told]).groupby(keys):
        for clean in (True, False):
            key += (int(of.get((key[2], clean), 0)), int((group["clean"] == clean).sum()))
        rows.append(key)
    return pd.DataFrame(rows, columns=COLUMNS)


def cases(tables: int, seed: int) -> Iterator[tuple[Made, str, int]]:
    for number in range(tables):
        rng = np.random.default_rng([seed, number])
        made = drawn(rng)
        yield made, "", number
        # One slip a table, the kinds in turn, so that tables are independent.
        for kind in (*SLIPS[number % len(SLIPS) :], *SLIPS):
            if other := slipped(made, kind, rng):
                yield other, kind, number
                break


def rates(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """How often a table was flagged: clean ones, slips, visible slips, with and without weak."""
    frame = frame.assign(
        told=frame["sure"].isin([CERTAIN, LIKELY]),
        weak=frame["sure"] != "",
        clean=frame["slip"] == "",
    )
    made = {}
    for key, group in frame.groupby(by, sort=False):
        clean, slips = group[group["clean"]], group[~group["clean"]]
        seen = slips[slips["visible"]]
        made[key] = {
            "clean": len(clean), "clean flagged %": 100 * clean["told"].mean(),
            "with weak %": 100 * clean["weak"].mean(), "slips": len(slips),
            "found %": 100 * slips["told"].mean(), "visible": len(seen),
            "visible found %": 100 * seen["told"].mean(),
            "visible found, weak too %": 100 * seen["weak"].mean(),
        }  # fmt: skip
    return pd.DataFrame(made).T.rename_axis(by).round(1)


def latex(made: Made) -> str:
    """A table as a paper sets it."""
    sizes = dict(zip(PARTS, made.sizes, strict=False)) if made.stated else {}
    heads = [f"{c} ($n={sizes[p]}$)" if (p := c.split()[-1]) in sizes else c for c in made.columns]
    lines = [["Method", *heads], *([row, *cells] for row, cells in made.rows.items())]
    body = "\n".join(" & ".join(line) + r" \\" for line in lines)
    total = f" The test has {made.sizes.sum()} questions." if made.stated else ""
    return rf"""\begin{{table}}\caption{{Results.{total}}}
\begin{{tabular}}{{l{"c" * len(heads)}}}\toprule
{body}
\bottomrule\end{{tabular}}\end{{table}}"""


def paper(tables: int, seed: int) -> None:
    """The seconds of one paper, every second table with a slip."""
    made = [one for one, kind, number in cases(tables, seed) if bool(kind) == bool(number % 2)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "paper.tex"
        path.write_text("\n".join(map(latex, made)))
        clocks = (time.perf_counter, time.process_time)
        start = [clock() for clock in clocks]
        report = audit_file(path)
        took, worked = (clock() - began for clock, began in zip(clocks, start, strict=True))
    print(f"{len(report.tables)} tables of LaTeX in {took:.1f} s, {worked:.1f} s of one core, "
          f"{len(report.failing('likely'))} findings")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after that")
    parser.add_argument("--only", choices=("stated", "not stated", "others", *DRAWN),
                        default="")  # fmt: skip
    parser.add_argument("--clean", action="store_true", help="no slips")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--of", type=Path, nargs="+", metavar="JSON", default=())
    parser.add_argument("--rates", type=Path, metavar="CSV")
    parser.add_argument("--paper", type=int, default=0, help="a paper of so many tables, timed")
    arguments = parser.parse_args()
    tables, seed, only, clean = (getattr(arguments, name)
                                 for name in ("tables", "seed", "only", "clean"))  # fmt: skip
    if arguments.paper:
        paper(arguments.paper, seed)
        return
    made = (row for path in arguments.of for row in json.loads(path.read_text()))
    if not arguments.of:
        each = chain.from_iterable(others(number, seed, only, clean) for number in range(tables))
        each = each if only in ("others", *DRAWN) else shares(tables, seed, only, clean)
        until = time.monotonic() + arguments.seconds
        made = takewhile(lambda _: time.monotonic() < until, each)
    whole = pd.DataFrame(made)
    frame = whole[whole["family"].isin([STATED, NOT_STATED])]
    frame = frame.astype({name: bool for name in ("stated", "visible") if len(frame)})
    for by in ("stated", "slip", "printed", "average", "shape") if len(frame) else ():
        print(rates(frame, ["stated"] if by == "stated" else ["stated", by]).to_string(), "\n")
    rules = by_rule(whole)
    print(rules.to_string(index=False))
    if arguments.rates:
        arguments.rates.write_text(rules.to_csv(index=False, lineterminator="\n"))
    print(f"\n{whole['seconds'].mean():.3f} s a table, at most {whole['seconds'].max():.2f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(whole.to_dict("records"), indent=0))


if __name__ == "__main__":
    main()
