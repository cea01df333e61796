"""LongMemEval's numbers as printed, and what arithmetic on them alone can check.

Tables 1, 2, 5, 6, 7 and 11 describe, or tell of judges and services that cannot be asked again:
they are written as data. The checks hold one printed number against others; no data set, no model
and no run is behind them.
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN, judge
from memrepro.files.atomic import read_yaml, write_table
from memrepro.report.tables import Cell, number, write_cells

REPORTED = Path(__file__).with_name("printed.yaml")
# Table -> the verdict on its cells, and why no number of this project stands beside them.
STATIC = {
    "table1": (NOT_COMPARABLE, "describes benchmarks: nothing to run"),
    "table2": (NOT_COMPARABLE, "describes systems: nothing to run"),
    "table5": (NOT_COMPARABLE, "names attributes, those of the sample benchmark: nothing to run"),
    "table6": (NOT_RUN, "needs answers of two models, GPT-4o as their judge, and experts"),
    "table7": (NOT_RUN, "needs ChatGPT and Coze as they were in August 2024, and human judges"),
    "table11": (NOT_RUN, "needs GPT-4o and Llama 3.1 8B Instruct"),
}
_RATIO = re.compile(r"(?P<rate>\S+) \((?P<right>\d+)/(?P<all>\d+)\)")


def printed(table: str) -> pd.DataFrame:
    """A table as printed: strings, by row and column."""
    entry = read_yaml(REPORTED)[table]
    return pd.DataFrame.from_dict(entry["rows"], orient="index", columns=entry["columns"])


def notes(table: str) -> list[str]:
    """What a reader must know of a table's printed numbers."""
    return list(read_yaml(REPORTED)[table].get("notes", ()))


def _cells(table: str) -> Iterator[tuple[str, str, str]]:
    for row, cells in printed(table).iterrows():
        for column, shown in cells.items():
            yield str(row), str(column), shown


def as_printed(table: str) -> Iterator[Cell]:
    """The cells of one of the `STATIC` tables."""
    verdict, why = STATIC[table]
    note = "; ".join([why, *notes(table)])
    for row, column, shown in _cells(table):
        yield Cell(row, column, "as printed", shown, "", 0, verdict, note=note)


def arithmetic() -> Iterator[Cell]:
    """Printed numbers that follow from other printed numbers, computed from those."""
    text = {row: shown for row, _, shown in _cells("text")}
    yield from _judge_table()
    yield from _human_study(int(text.pop("§3.4: questions of the human study")))
    values = {**_counts_and_drops(), **_gains()}
    for row, shown in text.items():
        yield _checked(row, shown, *values[row])


def _checked(row: str, shown: str, value: float, note: str = "", n: int = 1) -> Cell:
    verdict = judge(shown, float(value))
    text = number(value) if isinstance(value, float) else str(value)
    metric = "arithmetic on printed numbers"
    return Cell(row, "value", metric, shown, text, n, verdict.label, verdict.term, note)


def _counts_and_drops() -> dict[str, tuple[float, str]]:
    accuracy = {row: float(shown) for row, _, shown in _cells("figure3a")}
    offline = accuracy["Offline Reading, GPT-4o"]
    attributes = sum(len(shown.split(", ")) for _, _, shown in _cells("table5"))
    drops = {
        f"Figure 3a: drop of {system} (%)": (100 * (1 - accuracy[system] / offline), "Figure 3a")
        for system in ("ChatGPT, GPT-4o", "Coze, GPT-4o")
    }
    return {"§3.2: user attributes": (attributes, "counted in Table 5"), **drops}


def _gains() -> dict[str, tuple[float, str]]:
    """The mean relative gains that §5.3 and §5.4 name, in per cent, over Tables 3 and 4."""
    keys, times = printed("table3").astype(float), printed("table4").astype(float)
    plain = keys.filter(regex="K = V$", axis=0)
    facts = keys.filter(regex=r"K = V \+ fact$", axis=0)
    before = times.filter(regex=r"^\(\d\) K = ", axis=0)
    after = times.filter(regex="GPT-4o", axis=0)

    def gain(old: pd.DataFrame, new: pd.DataFrame, columns: str) -> float:
        ratio = new.filter(regex=columns).to_numpy() / old.filter(regex=columns).to_numpy()
        return float(100 * (ratio - 1).mean())

    of_keys, of_times = "mean over Table 3", "mean over Table 4, GPT-4o rows"
    return {
        "§5.3: recall@k, K = V + fact against K = V (%)": (gain(plain, facts, "Recall"), of_keys),
        "§5.3: accuracy, K = V + fact against K = V (%)": (gain(plain, facts, "Top-"), of_keys),
        "§5.4: recall, query expansion, rounds (%)": (
            gain(before, after, "Round, Recall"),
            of_times,
        ),
        "§5.4: recall, query expansion, sessions (%)": (
            gain(before, after, "Session, Recall"),
            of_times,
        ),
    }


def _judge_table() -> Iterator[Cell]:
    """Table 6: each rate against the counts beside it, and the averages over all counts."""
    for model, cells in printed("table6").items():
        right = asked = 0
        for kind, cell in cells.items():
            row = f"Table 6: {kind}, {model}"
            if found := _RATIO.fullmatch(cell):
                k, n = int(found["right"]), int(found["all"])
                right, asked = right + k, asked + n
                yield _checked(row, found["rate"], k / n, n=n)
            else:
                yield _checked(row, cell, right / asked, n=asked)


def ability_sizes(total: int) -> list[tuple[int, ...]]:
    """The numbers of questions by ability that give Table 7's accuracies and add up to a total."""
    shown = printed("table7").astype(float)
    fits = [
        # Half a unit of the last digit: 13 of 16 are printed as 0.813.
        [n for n in range(1, total + 1) if (abs(np.rint(x * n) / n - x) <= 0.0005 + 1e-9).all()]
        for x in shown.to_numpy().T
    ]
    return [sizes for sizes in itertools.product(*fits) if sum(sizes) == total]


def _human_study(total: int) -> Iterator[Cell]:
    """Figure 3a's accuracies from Table 7's, whose sizes are not printed but have one solution."""
    (sizes,) = ability_sizes(total)
    counted = ", ".join(map(str, sizes))
    by_ability = printed("table7").astype(float)
    for system, _, shown in _cells("figure3a"):
        if system in by_ability.index:
            right = np.rint(by_ability.loc[system].to_numpy() * sizes).sum()
            note = f"Table 7 with {counted} questions, the only sizes that fit and add up"
        else:
            right = np.rint(float(shown) * total)
            note = f"the nearest share of {total} questions"
        yield _checked(f"Figure 3a: {system}", shown, float(right / total), note, total)


def printed_twice() -> pd.DataFrame:
    """Numbers that stand in more than one of Tables 3, 9 (Stella) and 10.

    Returns:
        columns `value`, `key`, `metric`, one a table ('' where it has no such number), `agree`.
    """
    tables = {t: _by_design(t) for t in ("table3", "table9", "table10")}
    frame = pd.DataFrame(tables).rename_axis(["value", "key", "metric"]).fillna("")
    frame = frame[(frame != "").sum(axis=1) > 1]
    frame["agree"] = ["yes" if len(set(row) - {""}) == 1 else "no" for row in frame.to_numpy()]
    return frame.reset_index()


def _by_design(table: str) -> dict[tuple[str, str, str], str]:
    """(unit of value, key, metric) → number, of Stella and without rank merging."""
    found = {}
    for row, column, shown in _cells(table):
        name = f"{row}, {column}".replace(" (KM)", "").replace("keyphrases", "keyphrase")
        if shown != "-" and not re.search(r"BM25|Contriever|\(RM\)", name):
            # Tables 3 and 10 have the unit in the row, Table 9 in the column.
            (unit,), (key,) = re.findall(r"Value = (\w+)", name), re.findall(r"K = [^,]+", name)
            found[unit.lower(), key, name.rsplit(", ", 1)[1]] = shown
    return found


def build(folder: Path) -> list[Path]:
    """Write the checks and what is printed twice; return the paths."""
    written = write_cells(arithmetic(), folder, "arithmetic")
    twice = folder / "printed_twice.csv"
    write_table(twice, printed_twice())
    return [*written, twice]
