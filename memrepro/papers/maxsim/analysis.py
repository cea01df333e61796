"""Claims of the max-sim document that no paired comparison alone decides, one function each."""

from collections.abc import Callable, Iterator, Mapping

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN, UNDECIDED
from memrepro.evaluate.comparison import LEVEL, Comparison
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.maxsim import selection
from memrepro.papers.maxsim.decoded import printed_changes
from memrepro.report.compared import FAILS, HOLDS
from memrepro.report.document import Document
from memrepro.report.runs import Runs
from memrepro.report.sources import FileSource, Source, write_sources
from memrepro.report.specs import Spec, filled, place_of
from memrepro.report.tables import Cell, verdict_cells

THRESHOLD = 0.005  # Table 2, caption: the drop of overall Recall@10 that is accepted
_COUNTED = {"metric": "recall_all", "k": 10}
_BASELINE, _OURS = "first field only", "fielded max-sim"


def _against_baseline(runs: Runs, study: Spec, row: str) -> tuple[Comparison, list[Source]]:
    """A row's change against the first field alone, and its sources."""
    named = Document.load("maxsim").named
    places = [
        place_of(filled({**study, **_COUNTED, **named[one]}, runs.planned))
        for one in (_BASELINE, row)
    ]
    before, now = (runs.values(place) for place in places)
    assert before is not None  # a document's studies are those that were run
    assert now is not None
    return runs.compare(places[0].run, before, now), [*places]


def _no_harm(runs: Runs, claim: Spec) -> Iterator[Cell]:
    """No loss overall: by the interval of the change, with the document's threshold as margin."""
    found, sources = _against_baseline(runs, claim, _OURS)
    answer = UNDECIDED
    if found.sign() < 0:
        answer = FAILS
    elif found.low >= -THRESHOLD:
        answer = HOLDS
    about = (
        f"'holds here': the 95 % interval lies above −{THRESHOLD}; 'does not hold here': it lies "
        f"below 0, and p is below {LEVEL}"
    )
    yield from _answered(claim, answer, {"recall_all@10": found}, found.n, about, sources)


def _threshold(runs: Runs, claim: Spec) -> Iterator[Cell]:
    """Which rows lose at most the threshold, by the mean alone, as the document judges them."""
    expected = {"mixture α = 0.7": False, "mixture α = 0.5": False, _OURS: True}
    passed, told, sources, n = {}, [], list[Source](), 0
    for row in expected:
        found, of_row = _against_baseline(runs, claim, row)
        passed[row], n = found.difference >= -THRESHOLD, found.n
        told.append(f"{row} {found.difference:+.4f} ({'passes' if passed[row] else 'fails'})")
        sources += of_row
    answer = HOLDS if passed == expected else FAILS
    about = f"a row passes where its mean falls by at most {THRESHOLD}"
    yield from _answered(claim, answer, {"found": "; ".join(told)}, n, about, sources)


def _storage(runs: Runs, claim: Spec) -> Iterator[Cell]:
    """How many keys the fields need, against the first field alone and the joined text."""
    path = paths.statistics(runs.planned[f"{claim['stem']}-fields"].profile, claim["dataset"])
    counts = read_table(path)
    first, second, rounds = (
        int(counts[column].astype(int).sum())
        for column in (f"rounds with {claim['first']}", f"rounds with {claim['second']}", "rounds")
    )
    keys = first + second
    text = f"{keys} keys: {keys / first:.2f} times the first field's, {keys / rounds:.2f} a round"
    answer = HOLDS if round(keys / first) == 2 else FAILS
    about = "keys of one size each; 'holds here': twice as many as the first field's, rounded"
    source = FileSource(path.relative_to(paths.results(runs.profile)).as_posix())
    yield from _answered(claim, answer, {"found": text}, rounds, about, [source])


def _selects(runs: Runs, claim: Spec) -> Iterator[Cell]:
    """Whether most of max-sim's docs come through the field that holds the evidence."""
    *_, counted, sources = selection.of_study(runs, claim)
    first, second = claim["first"], claim["second"]
    shares = {
        one.evidence: one.first if one.evidence == first else 1 - one.first
        for one in counted
        if one.evidence in (first, second)
    }
    told = "; ".join(
        f"evidence of {name}: {share:.4f} by its field" for name, share in shares.items()
    )
    answer = HOLDS if min(shares.values()) > 0.5 else FAILS
    n = sum(one.questions for one in counted if one.evidence in shares)
    about = "'holds here': for each field more than half of the docs of the lists"
    for cell in _answered(claim, answer, {"found": told}, n, about, []):
        yield cell._replace(sources=sources)


def _significance(runs: Runs, claim: Spec) -> Iterator[Cell]:
    """The document's gain for the assistant's questions, from its own counts."""
    (one,) = (c for name, c in printed_changes() if name == "Table 1: Fielded MaxSim, SSA R@10")
    text = f"{one.before} → {one.now} of {one.n}, p at least {one.p[0]:.2f}: {one.words}"
    answer = "does not hold" if one.words == "significant" else "holds"
    about = "arithmetic on printed numbers"
    yield from _answered(claim, answer, {"found": text}, one.n, about, [])


_CHECKS: Mapping[str, Callable[[Runs, Spec], Iterator[Cell]]] = {
    "no harm": _no_harm,
    "threshold": _threshold,
    "storage": _storage,
    "selects": _selects,
    "significance": _significance,
}


def check(runs: Runs, claim: Spec) -> Iterator[Cell]:
    """The cells of a claim of `claims.yaml` that names a check."""
    if why := runs.why_not(f"{claim['stem']}-fields", "fielded"):
        yield Cell(claim["row"], "verdict", "claim", claim["said"], "", 0, NOT_RUN, note=why)
        return
    yield from _CHECKS[claim["check"]](runs, claim)


def _answered(
    claim: Spec, answer: str, texts: Mapping[str, str | Comparison], n: int, about: str,
    sources: list[Source],
) -> Iterator[Cell]:  # fmt: skip
    head = Cell(
        claim["row"], "verdict", "claim", claim["said"], answer, n, NOT_COMPARABLE,
        note=f"{claim['row']}: {about}", sources=write_sources(sources),
    )  # fmt: skip
    yield from verdict_cells(head, texts)
