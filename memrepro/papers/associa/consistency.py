"""What Associa's printed numbers say of each other, and of the prose around them.

Printed numbers are held against printed numbers; no data set, no model and no run is behind this.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from math import sqrt
from typing import NamedTuple

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.papers.associa.printed import REPORTED, printed, text
from memrepro.report.tables import Cell, verdict_cells

_LONGMEMEVAL = REPORTED.parents[1] / "longmemeval" / "printed.yaml"
_BASELINES = (
    "BM25", "Contriever", "Stella", "BGE", "Longmemeval (w UF)", "Longmemeval (w UF and TF)",
)  # fmt: skip
_ONE, _TWO = "Associa max_iter=1", "Associa max_iter=2"
_UF, _UF_TF = "Longmemeval (w UF)", "Longmemeval (w UF and TF)"
_HOLDS, _FAILS = "holds", "does not hold"
_LABELS = {_HOLDS: "exact", _FAILS: "not reproduced"}
Rows = Mapping[str, Mapping[str, str]]
# Whether a comparison holds, and its numbers, which are shown where it does not.
Compared = tuple[bool, str]


class Check(NamedTuple):
    """One check of printed numbers.

    Attributes:
        where: in the paper.
        said: its words, or '' where the check is of numbers alone.
        expected: what would be so if it held.
        found: what is so.
        words: 'holds', 'does not hold', or what else can be said.
        n: how many comparisons were made.
    """

    where: str
    said: str
    expected: str
    found: str
    words: str
    n: int


def consistency() -> Iterator[Cell]:
    """Every check in plain words: what the paper says, what is expected, what is found."""
    for where, said, expected, found, words, n in checks():
        label = _LABELS.get(words, NOT_COMPARABLE)
        term = found.split(";")[0]
        verdict = Cell(where, "verdict", "consistency", said, words, n, label, term)
        yield from verdict_cells(verdict, {"expected": expected, "found": found})


def checks() -> Iterator[Check]:
    """All checks, those of Table 1 first."""
    yield from _of_associa()
    yield from _of_longmemeval()
    yield from _of_all_rows()
    yield from _of_answers()
    yield from _of_ablations()
    yield from _of_questions()
    yield from _of_the_schema()


def _check(where: str, expected: str, compared: Iterable[Compared]) -> Check:
    """A check that holds where each of its comparisons does; else the exceptions are shown."""
    made = list(compared)
    failed = [shown for holds, shown in made if not holds]
    found = f"{len(made) - len(failed)} of {len(made)}"
    if failed:
        found += f"; not: {'; '.join(failed)}"
    said = printed("text_claims").get(where, {}).get("printed", "")
    return Check(where, said, expected, found, _FAILS if failed else _HOLDS, len(made))


def _above(table: Rows, ours: str, rivals: Iterable[str], columns: str = "") -> Iterator[Compared]:
    """Whether a row is above each of others, in the columns whose name holds a word."""
    for rival in rivals:
        for column, shown in table[ours].items():
            if columns in column:
                other = table[rival][column]
                yield Decimal(shown) > Decimal(other), f"{column} {shown}, {rival} {other}"


def _of_associa() -> Iterator[Check]:
    table = printed("table1")
    others = [row for row in table if row != _TWO]
    yield _check(
        "§5.3: max_iter=2 is best (Table 1)", "above each other row in all 8 columns",
        _above(table, _TWO, others),
    )  # fmt: skip
    yield _check(
        "§5.3: max_iter=1 is near the top (Table 1)",
        "above each row but max_iter=2 in recall@5 and ndcg@5",
        _above(table, _ONE, _BASELINES, "@5"),
    )
    yield _check(
        "§5.3: max_iter=1 improves (Table 1)", "above each baseline in all 8 columns",
        _above(table, _ONE, _BASELINES),
    )  # fmt: skip
    gains = [Decimal(v) - Decimal(table["Contriever"][c]) for c, v in table[_ONE].items()]
    exceeds = _check(
        "§5.3: Associa exceeds Contriever (Table 1)",
        "max_iter=1 above Contriever in all 8 columns",
        _above(table, _ONE, ["Contriever"]),
    )
    yield exceeds._replace(found=f"{exceeds.found}, by {min(gains)} to {max(gains)}")
    both = [one for ours in (_ONE, _TWO) for one in _above(table, ours, _BASELINES, "ndcg")]
    yield _check(
        "§5.3: Associa leads in NDCG (Table 1)", "both rows above each baseline, 4 columns", both
    )


def _of_longmemeval() -> Iterator[Check]:
    table = printed("table1")
    yield _check(
        "§5.3: Longmemeval with UF and TF improves over BM25 and Contriever (Table 1)",
        "above both in all 8 columns",
        _above(table, _UF_TF, ["BM25", "Contriever"]),
    )
    below = [
        (Decimal(other) > Decimal(shown), f"{column} {shown}, {rival} {other}")
        for rival in ("Stella", "BGE", _ONE, _TWO)
        for column, shown in table[_UF_TF].items()
        for other in [table[rival][column]]
    ]
    yield _check(
        "§5.3: Longmemeval stays below Associa, BGE and Stella (Table 1)",
        "with UF and TF below each of the four rows in all 8 columns",
        below,
    )
    yield _check(
        "§5.3: user facts help (Table 1)",
        "with UF above Stella, the same retriever without facts (§5.1.2), in all 8 columns",
        _above(table, _UF, ["Stella"]),
    )
    theirs = printed("table9", _LONGMEMEVAL)
    designs = {
        "BM25": "K = V, BM25",
        "Contriever": "K = V, Contriever",
        "Stella": "K = V, Stella V5 1.5B",
        _UF: "K = V + fact, Stella V5 1.5B",
    }
    shown, lower = [], 0
    for ours, design in designs.items():
        value = table[ours]["Longmemeval-m, recall@5"]
        there = [theirs[design][f"Value = {unit}, Recall@5"] for unit in ("round", "session")]
        lower += Decimal(value) < min(map(Decimal, there))
        shown.append(f"{ours} {value} (there {', '.join(there)})")
    yield Check(
        "Table 1 beside LongMemEval's Table 9", "",
        "recall@5 on m as LongMemEval prints it, by round or by session", "; ".join(shown),
        f"lower in {lower} of {len(designs)}: other questions, and perhaps other docs",
        len(designs),
    )  # fmt: skip


def _of_all_rows() -> Iterator[Check]:
    table = printed("table1")
    yield _check(
        "§5.3: m is harder than s (Table 1)", "each number on m below that on s",
        [
            (Decimal(cells[large]) < Decimal(shown), f"{row}, {column}: {shown} → {cells[large]}")
            for row, cells in table.items()
            for column, shown in cells.items()
            for large in [column.replace("-s,", "-m,")]
            if large != column
        ],
    )  # fmt: skip
    recalls = [Decimal(cells["Longmemeval-m, recall@5"]) for cells in table.values()]
    near = sum(abs(value - Decimal("0.5")) <= Decimal("0.1") for value in recalls)
    where = "§5.3: most models reach 0.5 on m (Table 1)"
    yield Check(
        where, text(where, "text_claims"), "more than half of the rows within 0.1 of 0.5",
        f"{near} of {len(recalls)}; all from {min(recalls)} to {max(recalls)}",
        _HOLDS if 2 * near > len(recalls) else _FAILS, len(recalls),
    )  # fmt: skip
    yield _check(
        "Tables 1 and 3: from 5 to 10", "no recall and no NDCG falls from 5 to 10",
        [
            (Decimal(cells[f"{column}10"]) >= Decimal(cells[f"{column}5"]), f"{row}, {column}10")
            for rows in (table, printed("table3"))
            for row, cells in rows.items()
            for column in [c.removesuffix("5") for c in cells if c.endswith("@5")]
        ],
    )  # fmt: skip
    above, cells = _ndcg_above_recall(table, "recall", "ndcg")
    there, cells_there = _ndcg_above_recall(printed("table3", _LONGMEMEVAL), "Recall", "NDCG")
    yield Check(
        "Table 1: NDCG beside recall", "",
        "NDCG above the recall of all evidence as seldom as in LongMemEval's Table 3, where it is "
        f"in {there} of {cells_there}",
        f"in {above} of {cells}",
        "another NDCG, other docs or other questions than LongMemEval's", cells,
    )  # fmt: skip


def _ndcg_above_recall(table: Rows, recall: str, ndcg: str) -> tuple[int, int]:
    """In how many cells of a table NDCG is above recall, and of how many."""
    above = [
        Decimal(cells[column.replace(recall, ndcg)]) > Decimal(shown)
        for cells in table.values()
        for column, shown in cells.items()
        if recall in column
    ]
    return sum(above), len(above)


def _of_answers() -> Iterator[Check]:
    table, ours = printed("table2"), "Associa (iter=2)"
    columns = list(table[ours])
    others = [row for row in table if row != ours]
    yield _check(
        "§5.4: Associa answers best (Table 2)", "above each other row, 2 columns",
        _above(table, ours, others),
    )  # fmt: skip
    asked = int(text("§5.1.1: questions"))
    leads, noise = [], []
    for column in columns:
        best, second = float(table[ours][column]), max(float(table[o][column]) for o in others)
        noise.append(1.96 * sqrt((best * (1 - best) + second * (1 - second)) / asked))
        leads.append(best - second)
    clear = all(lead > chance for lead, chance in zip(leads, noise, strict=True))
    yield Check(
        "Table 2: Associa's lead", "",
        f"more than two independent shares of {asked} questions differ by in 95 % of cases, "
        + ", ".join(f"{value:.3f}" for value in noise),
        ", ".join(f"{value:.2f}" for value in leads),
        "more" if clear else "less: the printed numbers alone cannot tell it from chance",
        len(leads),
    )  # fmt: skip
    same = sum(table[_UF][c] == table[_UF_TF][c] for c in columns)
    whole = printed("table1")
    differing = sum(whole[_UF][c] != shown for c, shown in whole[_UF_TF].items())
    yield Check(
        "Table 2: Longmemeval with and without TF", "",
        f"different, as {differing} of {len(whole[_UF])} numbers of Table 1 are",
        f"equal in {same} of {len(columns)}: {', '.join(table[_UF].values())}", _TWICE_SAME,
        len(columns),
    )  # fmt: skip
    small, large = columns
    yield _check(
        "Table 2: m is harder than s", "each accuracy on m below that on s",
        [
            (float(cells[large]) < float(cells[small]), f"{row} {cells[small]} → {cells[large]}")
            for row, cells in table.items()
        ],
    )  # fmt: skip


_TWICE_SAME, _TWICE_OTHER = (
    f"printed twice with {how} values" for how in ("the same", "different")
)


def _of_ablations() -> Iterator[Check]:
    table, whole = printed("table3"), printed("table1")
    for ours, theirs in (("Associa", _TWO), ("w/o DM", _ONE), ("w/o AM", "Contriever")):
        pairs = [(shown, whole[theirs][f"Longmemeval-s, {c}"]) for c, shown in table[ours].items()]
        apart = [f"{there} there, {here} here" for here, there in pairs if here != there]
        yield Check(
            f"Table 3: {ours} beside Table 1: {theirs}, s", "", "the same four numbers",
            "; ".join([f"{len(pairs) - len(apart)} of {len(pairs)}", *apart]),
            _TWICE_OTHER if apart else _TWICE_SAME, len(pairs),
        )  # fmt: skip
    variants = [row for row in table if row != "Associa"]
    yield _check(
        "§5.5: every variant loses (Table 3)", "each number below Associa's",
        _above(table, "Associa", variants),
    )  # fmt: skip
    most = []
    for column, full in table["Associa"].items():
        drops = {row: Decimal(full) - Decimal(table[row][column]) for row in variants}
        own = drops.pop("w/o AM")
        row, rival = max(drops.items(), key=lambda item: item[1])
        most.append((own > rival, f"{column} {own}, {row} {rival}"))
    yield _check(
        "§5.5: association matters most (Table 3)", "w/o AM loses most in all 4 columns", most
    )


def recalls() -> list[str]:
    """The distinct recalls of Tables 1 and 3."""
    return sorted(
        {
            shown
            for table in ("table1", "table3")
            for cells in printed(table).values()
            for column, shown in cells.items()
            if "recall" in column
        }
    )


def question_counts(largest: int = 500) -> dict[int, int]:
    """Number of questions → how many of `recalls` are a share of it, rounded or cut off.

    A recall of all evidence is 0 or 1 a question.
    """
    return {n: sum(_is_share(shown, n) for shown in recalls()) for n in range(1, largest + 1)}


def _is_share(shown: str, n: int) -> bool:
    """Whether a number of n questions gives a printed share, to three digits."""
    unit = int(shown.replace(".", ""))
    near = range(unit * n // 1000, unit * n // 1000 + 3)
    # Rounded: within half a unit; cut off: less than one above. Both in whole numbers.
    return any(-n <= 2 * (1000 * k - unit * n) < 2 * n for k in near)


def _of_questions() -> Iterator[Check]:
    counts, total = question_counts(), len(recalls())
    (n, most), (_, second) = sorted(counts.items(), key=lambda item: -item[1])[:2]
    asked = int(text("§5.1.1: questions"))
    yield Check(
        "Tables 1 and 3: questions behind a recall", "",
        f"shares of {asked} questions, less 'a small number of cases' (§5.2.1)",
        f"{most} of {total} recalls are shares of {n} questions; the next best number of questions "
        f"has {second}, {asked} has {counts[asked]}",
        f"{n} questions: {asked - n} left out", total,
    )  # fmt: skip
    there = printed("table1", _LONGMEMEVAL)["LONGMEMEVAL (this work)"]
    tokens = ", ".join(text(f"§5.1.1: tokens a question, Longmemeval_{e}") for e in "sm")
    same = (there["#Q"], there["Context Depth"]) == (str(asked), tokens.replace(" million", "M"))
    yield Check(
        "§5.1.1: the data sets", "",
        f"as in LongMemEval's Table 1: {there['#Q']} questions, {there['Context Depth']} tokens",
        f"{asked} questions, {tokens} tokens", _HOLDS if same else _FAILS, 3,
    )  # fmt: skip


_COUNTS = {"four": 4, "six": 6}


def _of_the_schema() -> Iterator[Check]:
    edges = printed("schema").values()
    ends = sorted({edge[end] for edge in edges for end in ("from", "to")})
    for where, row, named in (
        ("§4.1: typed edges", "§4.1: semantically-typed edges", [e["label"] for e in edges]),
        ("§4.1: types of nodes", "§4.1: core node types", ends),
    ):
        said = text(row)
        yield Check(
            where, said, f"{_COUNTS[said]}", f"{len(named)}: {', '.join(named)}",
            _HOLDS if len(named) == _COUNTS[said] else _FAILS, 1,
        )  # fmt: skip
