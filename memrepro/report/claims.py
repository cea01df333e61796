"""One engine for claims: `claims.yaml` names what a document says and what compares with what.

    metrics: [recall_all@5, ndcg@10]   # by which rows are compared
    both: {recall_all@50: name}        # a metric only for rows whose specs both have that entry
    layout: words                      # what was found as a text; without it, a column a metric
    note: …
    table: tested_claims               # what the table is called, if not 'claims'
    claims:
      - row: "§3.3: recollection helps"
        said: Recollection is stronger # or [table, row] of printed.yaml, which names the row too
        better: recollection           # a name of `runs` of tables.yaml, or a spec; or a list
        worse: [familiarity]           # each better row is compared with each worse one
        over: {k: [5, 10]}             # … for each value
        pairs: [[a, b], [c, d, kind]]  # or pair by pair, on all questions or those of a kind
        metrics: [ndcg@10]             # only these of the metrics decide; without it, all
        equal: true                    # the claim is that they are the same; not tested
        readings: true                 # the pairs are readings of one: undecided unless all agree

A claim's own comparisons are corrected together, and no others (`report.compared`). One without
`row` and `said` only adds its comparisons to the table of differences. What no comparison can test
has one of these in their place:

        unchecked: why not
        checked: name      # the check of that row in `checks` of printed.yaml, which has that name
        check: name                    # `analysis.check(runs, claim)` yields its cells
        cases: module.function         # of runs and the claim: `ClaimCase`s, which must all hold

What the document never claimed and this project asks has a row that begins 'not in the paper: '.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from memrepro.audit.tables import PROSE, reference
from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_IN_PAPER, NOT_RUN, UNDECIDED
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison
from memrepro.report.checks import checked_rows
from memrepro.report.compared import (
    FAILS,
    HOLDS,
    TESTED,
    Compared,
    signs,
    verdict,
)
from memrepro.report.document import Document, in_entry
from memrepro.report.runs import Runs
from memrepro.report.sources import Source, write_sources
from memrepro.report.specs import (
    Spec,
    as_spec,
    fill,
    filled,
    loops,
    metric_of,
    place_of,
    why_not,
)
from memrepro.report.tables import Cell, verdict_cells

UNCHECKED = "cannot be checked here"
CONTRARY = f"{UNDECIDED}: its readings contradict each other"


class Side(NamedTuple):
    """A row of a claim: its name, and the spec of its values."""

    name: str
    spec: Spec


class Pair(NamedTuple):
    """Two rows, of which a claim calls the first better, on all questions or on those of a kind."""

    better: Side
    worse: Side
    kind: str = ""

    @property
    def name(self) -> str:
        """What tells it from others, for people too."""
        kind = f", {self.kind}" if self.kind else ""
        return f"{self.better.name} \u2212 {self.worse.name}{kind}"


class ClaimCase(NamedTuple):
    """One case of a claim: what it is of, what came out, whether it holds, and from what."""

    case: str
    text: str
    holds: bool
    sources: Sequence[Source] = ()


class Claims:
    """The claims of a document on a study."""

    def __init__(self, document: Document, runs: Runs, study: Spec) -> None:
        self.document, self.runs, self.study = document, runs, study
        self.data = document.claims
        self.metrics: list[str] = list(self.data["metrics"])
        path = document.folder / "claims.yaml"
        self._pairs = []
        for claim in self.data["claims"]:
            with in_entry(path, f"claim {claim.get('row')!r}"):
                self._pairs.append(self._pairs_of(claim))
        self.compared = self._compare()

    def _side(self, entry: Any, choice: Spec) -> Side:
        spec = {**self.study, **choice, **as_spec(entry, self.document.named)}
        name = entry if isinstance(entry, str) else str(spec["called"])
        return Side(fill(name, spec), filled(spec, self.runs.planned))

    def _pairs_of(self, claim: Mapping[str, Any]) -> list[Pair]:
        """The pairs of a claim, but those on kinds of question that the data lack."""
        result = []
        for choice in loops(claim.get("over", {})):
            of = {**self.study, **choice}
            for better, worse, *kind in self._entries(claim):
                kinds = [fill(one, of) for one in kind]
                if kinds and not kinds[0]:
                    continue  # the data have no questions of that kind
                result.append(Pair(self._side(better, choice), self._side(worse, choice), *kinds))
        return result

    def _entries(self, claim: Mapping[str, Any]) -> list[Sequence[Any]]:
        if "pairs" in claim:
            return list(claim["pairs"])
        better, worse = (claim.get(side, []) for side in ("better", "worse"))
        sides = [one if isinstance(one, list) else [one] for one in (better, worse)]
        return [(one, other) for one in sides[0] for other in sides[1]]

    def _compare(self) -> dict[str, list[Compared]]:
        """Every comparison of rows that were run, by pair."""
        pairs = {pair.name: pair for pairs in self._pairs for pair in pairs}
        return {name: list(self._of_pair(pair)) for name, pair in pairs.items()}

    def _of_pair(self, pair: Pair) -> Iterator[Compared]:
        """Two rows by each metric that both have; nothing where one was not run."""
        if any(self.why_not(side) for side in (pair.better, pair.worse)):
            return
        for metric in self.metrics:
            if metric in self.data.get("both", {}):  # only where both rows have that mark
                mark = self.data["both"][metric]
                if not (pair.better.spec.get(mark) and pair.worse.spec.get(mark)):
                    continue
            specs = [
                {**side.spec, **metric_of(metric), "kind": pair.kind or side.spec.get("kind", "")}
                for side in (pair.worse, pair.better)
            ]
            before, now = (self._values(spec) for spec in specs)
            if before is None or now is None or before.empty:
                continue
            sources = tuple(
                self.runs.file(spec["run"]) if spec.get("call") else place_of(spec)
                for spec in specs
            )
            found = self.runs.compare(pair.better.spec["run"], before, now)
            sides = (pair.better.name, pair.worse.name)
            yield Compared(*sides, pair.kind, metric, found, sources)

    def _values(self, spec: Spec) -> pd.DataFrame | None:
        """The values of a side: of its run, or by a function of the document's analysis."""
        if spec.get("call"):
            found: pd.DataFrame = self.document.call(spec["call"])(self.runs, spec)
            return found
        return self.runs.values(place_of(spec))

    def why_not(self, side: Side) -> str:
        """Why a row has no values; '' where it has. What a function computes may need a sweep."""
        if side.spec.get("call") and side.spec["run"] in self.runs.planned:
            settings = self.runs.settings(side.spec["run"])
            return "" if settings else why_not(self.runs, side.spec)
        return why_not(self.runs, side.spec)

    def all_compared(self) -> list[Compared]:
        """Every comparison, in order."""
        return [one for found in self.compared.values() for one in found]

    def cells(self) -> Iterator[Cell]:
        """The claims, one a row: the verdict here, what it rests on, and where it is printed."""
        told = ((claim, claim.get("said")) for claim in self.data["claims"])
        places = {
            claim.get("row", said[1]): reference(*said)
            for claim, said in told
            if isinstance(said, list)
        }
        for cell in self._cells():
            place = cell.printed or places.get(cell.row, "")
            yield cell._replace(printed=place) if cell.reported else cell

    def _cells(self) -> Iterator[Cell]:
        for claim, pairs in zip(self.data["claims"], self._pairs, strict=True):
            row, said = self._row_and_words(claim)
            claim = {"row": row, **claim}
            if not claim["row"] or (claim.get("optional") and not self._any(pairs)):
                continue
            if "unchecked" in claim:
                yield from self._unchecked(claim, said)
            elif "checked" in claim:
                yield from checked_rows(self.document.name, claim["checked"])[claim["row"]]
            elif "check" in claim:
                yield from self.document.call("check")(self.runs, {**self.study, **claim})
            elif "cases" in claim:
                of = {**self.study, **claim}
                cases = list(self.document.call(claim["cases"])(self.runs, of))
                yield from case_cells(claim, said, cases, self.data["note"])
            else:
                yield from self._tested(claim, said, pairs)

    def _any(self, pairs: Sequence[Pair]) -> bool:
        return any(
            all(side.spec.get("run") in self.runs.planned for side in (pair.better, pair.worse))
            for pair in pairs
        )

    def _row_and_words(self, claim: Mapping[str, Any]) -> tuple[str, str]:
        """The row of a claim whose words stand in `printed.yaml`, or '', and its words."""
        said = claim.get("said", "")
        if isinstance(said, list):
            table, row = said
            return row, self.document.printed(table)[row][PROSE]
        return "", str(said)

    def _unchecked(self, claim: Mapping[str, Any], said: str) -> Iterator[Cell]:
        row = claim["row"]
        yield Cell(row, "verdict", "claim", said, UNCHECKED, 0, NOT_COMPARABLE)
        yield Cell(row, "how sure", "claim", "", claim["unchecked"], 0, "")
        if "beside" in claim:
            found = self.document.call(claim["beside"])(self.runs, self.study)
            if found:
                yield Cell(row, "found", "claim", "", found, 0, "")

    def _tested(self, claim: Mapping[str, Any], said: str, pairs: Sequence[Pair]) -> Iterator[Cell]:
        """A claim that runs check, or 'not run' with the reason."""
        if not self._entries(claim):
            raise MemreproError(f"{claim['row']!r} compares nothing: it lacks better or worse")
        row, note = claim["row"], f"{self.data['note']}; {TESTED}"
        decide = self._read(claim, pairs)
        found = [one for reading in decide for one in reading]
        missing = dict.fromkeys(
            why for pair in pairs for side in pair[:2] if (why := self.why_not(side))
        )
        words = self.data.get("layout") == "words"
        if missing or not found:
            why = "; ".join(missing) or "no questions of that kind"
            head = Cell(row, "verdict", "claim", said, "", 0, NOT_RUN, note=why)
            yield head._replace(note=f"{row}: {why}") if words else head
            if words:
                yield Cell(row, "how sure", "claim", "", why, 0, "")
            return
        answers = {verdict([one.found for one in reading]) for reading in decide}
        contrary = {HOLDS, FAILS} <= answers
        answer = answers.pop() if len(answers) == 1 else CONTRARY if contrary else UNDECIDED
        if claim.get("equal"):
            answer = _same(found)
        sources = write_sources(source for one in found for source in one.sources)
        n = max(one.found.n for one in found)
        head = Cell(row, "verdict", "claim", said, answer, n, NOT_COMPARABLE, note=note,
                    sources=sources)  # fmt: skip
        texts = self._in_words(claim, pairs, found) if words else _by_metric(claim, found)
        yield from verdict_cells(head, texts)

    def _read(self, claim: Mapping[str, Any], pairs: Sequence[Pair]) -> list[list[Compared]]:
        """The comparisons that decide a claim, all at once or each reading's."""
        metrics = claim.get("metrics", self.metrics)
        each = [
            [one for one in self.compared.get(pair.name, ()) if one.metric in metrics]
            for pair in pairs
        ]
        return each if claim.get("readings") else [[one for found in each for one in found]]

    def _in_words(
        self, claim: Mapping[str, Any], pairs: Sequence[Pair], found: Sequence[Compared]
    ) -> dict[str, str | Comparison]:
        several = len(pairs) > 1
        shown = "; ".join(
            f"{metric} {one.found}" + (f" ({one.better} \u2212 {one.worse})" if several else "")
            for metric, one in _least(found).items()
        )
        counts = f"{_counts(found)} comparisons for, open and against"
        sure = f"{counts}, after Holm's correction within the claim"
        about = fill(claim.get("about", ""), self.study)
        return {
            "expected": "; ".join(f"{pair.name} above 0" for pair in pairs),
            "found": shown,
            "how sure": "; ".join(filter(None, [sure, about])),
        }


def _least(found: Sequence[Compared]) -> dict[str, Compared]:
    """Metric → the comparison that supports the claim least."""
    return {
        metric: min(
            (one for one in found if one.metric == metric), key=lambda one: one.found.difference
        )
        for metric in dict.fromkeys(one.metric for one in found)
    }


def _counts(found: Sequence[Compared]) -> str:
    known = signs([one.found for one in found])
    return ", ".join(str(known.count(sign)) for sign in (1, 0, -1))


def _by_metric(claim: Mapping[str, Any], found: Sequence[Compared]) -> dict[str, str | Comparison]:
    """A column a metric, with the comparison that supports the claim least."""
    least = _least(found)
    texts = {} if claim.get("equal") else {"for, open, against": _counts(found)}
    if len(found) > len(least):
        texts["the least are"] = "; ".join(f"{of}: {one.name}" for of, one in least.items())
    return {**texts, **{metric: one.found for metric, one in least.items()}}


def _same(found: Sequence[Compared]) -> str:
    """The verdict on a claim of equality: no question's value differs."""
    return FAILS if any(one.found.tied < one.found.n for one in found) else HOLDS


def case_cells(
    claim: Mapping[str, Any], said: str, cases: Sequence[ClaimCase], note: str
) -> Iterator[Cell]:
    """A claim that is checked case by case: it holds if all its cases do."""
    row = claim["row"]
    if not cases:
        why = "what it is about was not recorded: run `dvc repro`"
        yield Cell(row, "verdict", "claim", said, "", 0, NOT_RUN, note=why)
        return
    held = sum(case.holds for case in cases)
    label = "exact" if held == len(cases) else "not reproduced"
    if not said:
        label = NOT_IN_PAPER
    elif claim.get("measured"):
        label = NOT_COMPARABLE
    term, n = f"{held} of {len(cases)} cases", len(cases)
    answer = HOLDS if held == len(cases) else FAILS
    sources = write_sources(source for case in cases for source in case.sources)
    head = Cell(row, "verdict", "claim", said, answer, n, label, term, note, sources)
    texts = {
        "cases": f"{held} of {len(cases)}",
        "what came out": "; ".join(f"{case.case}: {case.text}" for case in cases),
    }
    yield from verdict_cells(head, texts)
