"""What Associa claims of its parts, as comparisons of runs on the data that are here.

Source: Associa §4.1, §5.3 and §5.5. All comparisons on a data set are one family.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import NamedTuple

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.papers.associa.here import (
    APART,
    ASSOCIA,
    BASELINES,
    BM25,
    BY_RULES,
    CLUSTERED,
    COLUMNS,
    DELIBERATED,
    DENSE,
    FACTS,
    FILTERED,
    INCREMENTAL,
    NO_ASSOCIATION,
    NO_IMPORTANCE,
    SEGMENTS,
    WORDS,
    Runs,
)
from memrepro.papers.associa.printed import text
from memrepro.report import compared_rows as compared
from memrepro.report.compared_rows import FAILS, HOLDS, Compared, compare_rows, correct, verdict
from memrepro.report.tables import Cell, verdict_cells


class Claim(NamedTuple):
    """A claim that a row is better than others, or equal to them.

    Attributes:
        row: of the table of claims.
        said: the row of the claims as printed, in `associa.yaml`; '' for a claim of a table.
        pairs: (the better row, the worse one) each.
        equal: whether the claim is that they are the same.
    """

    row: str
    said: str
    pairs: tuple[tuple[str, str], ...]
    equal: bool = False


_ABLATION = "§5.5: every variant loses (Table 3)"
CLAIMS = (
    Claim(
        "§5.3: Associa (max_iter = 2) beats every baseline",
        "§5.3: max_iter=2 is best (Table 1)",
        tuple((DELIBERATED, rival) for rival in BASELINES),
    ),
    Claim(
        "§5.3: Associa (max_iter = 1) beats every baseline",
        "§5.3: max_iter=1 improves (Table 1)",
        tuple((ASSOCIA, rival) for rival in BASELINES),
    ),
    Claim(
        "§5.3: Associa beats the dense retriever that it uses",
        "§5.3: Associa exceeds Contriever (Table 1)",
        ((ASSOCIA, DENSE),),
    ),
    Claim(
        "§5.3: user facts help the dense retriever",
        "§5.3: user facts help (Table 1)",
        ((FACTS, DENSE),),
    ),
    Claim(
        "§5.3: user facts and the time filter beat BM25 and the dense retriever",
        "§5.3: Longmemeval with UF and TF improves over BM25 and Contriever (Table 1)",
        ((FILTERED, BM25), (FILTERED, DENSE)),
    ),
    Claim("§5.5: association helps", _ABLATION, ((ASSOCIA, NO_ASSOCIATION),)),
    Claim(
        "§5.5: association helps, events by rules alone", _ABLATION, ((BY_RULES, NO_ASSOCIATION),)
    ),
    Claim("§5.5: importance ranking helps", _ABLATION, ((ASSOCIA, NO_IMPORTANCE),)),
    Claim("§5.5: deliberation helps", _ABLATION, ((DELIBERATED, ASSOCIA),)),
    Claim(
        "§5.5: more is lost without association than without importance ranking",
        "§5.5: association matters most (Table 3)",
        ((NO_IMPORTANCE, NO_ASSOCIATION),),
    ),
    Claim(
        "§4.1: deduplication helps retrieval",
        "§4.1: deduplication helps",
        ((INCREMENTAL, ASSOCIA), (CLUSTERED, ASSOCIA)),
    ),
    Claim(
        "not in the paper: a graph of the facts beats the facts as keys of their own",
        "",
        ((ASSOCIA, APART), (DELIBERATED, APART)),
    ),
    Claim(
        "not in the paper: Associa beats BM25 with words in lower case",
        "",
        ((ASSOCIA, WORDS), (DELIBERATED, WORDS)),
    ),
    Claim(
        "not in the paper: Associa beats a hybrid search of segments without a graph",
        "",
        ((ASSOCIA, SEGMENTS), (DELIBERATED, SEGMENTS)),
    ),
    Claim(
        "Table 3: w/o AM is the dense retriever alone", "", ((NO_ASSOCIATION, DENSE),), equal=True
    ),
)


def compare(runs: Runs) -> list[Compared]:
    """Every comparison of a claim whose rows were both run; those of equality are not tested."""
    pairs = dict.fromkeys(pair for claim in CLAIMS if not claim.equal for pair in claim.pairs)
    tested = [one for pair in pairs for one in _of_pair(runs, *pair)]
    same = [pair for claim in CLAIMS if claim.equal for pair in claim.pairs]
    return [
        *correct(tested),
        *(one._replace(p=nan) for pair in same for one in _of_pair(runs, *pair)),
    ]


def _of_pair(runs: Runs, better: str, worse: str) -> Iterator[Compared]:
    """Two rows by each of the paper's four metrics; nothing where one was not run."""
    if runs.why_not(better) or runs.why_not(worse):
        return
    for metric, k in COLUMNS:
        before, now = (runs.values(row, metric, k) for row in (worse, better))
        yield compare_rows(better, worse, f"{metric}@{k}", now, before)


def _named(found: Sequence[Compared]) -> compared.Named:
    return [(f"{one.better} less {one.worse}", one) for one in found]


def differences(found: Sequence[Compared]) -> Iterator[Cell]:
    """Each comparison: its difference, and its p-value before and after the correction."""
    return compared.differences(_named(found), "tested")


def claims(runs: Runs, made: Sequence[Compared]) -> Iterator[Cell]:
    """The paper's claims, one a row: the verdict here, and how the comparisons came out."""
    by_pair: dict[tuple[str, str], list[Compared]] = {}
    for one in made:
        by_pair.setdefault((one.better, one.worse), []).append(one)
    for claim in CLAIMS:
        said = text(claim.said, "text_claims") if claim.said else ""
        missing = dict.fromkeys(
            why for pair in claim.pairs for row in pair if (why := runs.why_not(row))
        )
        if missing:
            note = "; ".join(missing)
            yield Cell(claim.row, "verdict", "claim", said, "", 0, NOT_RUN, note=note)
            continue
        found = [one for pair in claim.pairs for one in by_pair[pair]]
        words, texts = _same(found) if claim.equal else _better(found)
        n = found[0].n
        head = Cell(claim.row, "verdict", "claim", said, words, n, NOT_COMPARABLE, note=_NOTE)
        yield from verdict_cells(head, texts)


_NOTE = (
    "not the paper's data or encoder; 'holds here': every comparison is above 0 by its 95 % "
    "interval and after Holm's correction; 'does not hold here': one is below 0 so; else "
    "undecided; where rows are compared with several, the least difference is shown"
)


def _better(found: Sequence[Compared]) -> tuple[str, Mapping[str, str]]:
    """The verdict on a claim of better, and by metric the comparison that speaks least for it."""
    signs = [one.sign for one in found]
    shown = {"for, open, against": ", ".join(str(signs.count(sign)) for sign in (1, 0, -1))}
    for metric in dict.fromkeys(one.metric for one in found):
        of_metric = [one for one in found if one.metric == metric]
        least = min(of_metric, key=lambda one: one.interval.mean)
        several = f" ({least.better} less {least.worse})" if len(of_metric) > 1 else ""
        shown[metric] = least.shown + several
    return verdict(found), shown


def _same(found: Sequence[Compared]) -> tuple[str, Mapping[str, str]]:
    """The verdict on a claim of equality: no question's value differs."""
    moved = any(one.interval != (0, 0, 0) for one in found)
    return FAILS if moved else HOLDS, {one.metric: one.shown for one in found}


def draw(found: Sequence[Compared], title: str, folder: Path, name: str) -> list[Path]:
    """Each comparison's difference with its interval, a panel a metric; nothing of none."""
    panels = [f"{metric}@{k}" for metric, k in COLUMNS]
    return compared.draw(_named(found), panels, 15, title, folder, name)
