"""What RF-Mem claims of its cost and routing, each on the data that its sentence is about.

Source: RF-Mem §3.2 (PersonaMem), §3.3 (PersonaBench), D.10 and Appendix E. A case is one encoder,
data set, K and variant. Where the sentence or its table prints a bound, that bound is what judges.
"""

import itertools
from collections.abc import Iterator

from memrepro.papers.rfmem.cells import numeric, printed_rows
from memrepro.papers.rfmem.grid import OPEN, grids_of
from memrepro.papers.rfmem.traces import Family, records_of
from memrepro.report.claims import ClaimCase
from memrepro.report.runs import Runs
from memrepro.report.sources import Source
from memrepro.report.specs import Spec


def _families(runs: Runs, claim: Spec) -> list[Family]:
    """The experiments on the data of the paper that a claim is `about`, by how their names begin.

    Without it, all of them; LoCoMo is not of the paper.
    """
    about, every = claim.get("about", "persona"), records_of(runs.profile).families
    return [one for one in every if one.recollection.entry.dataset.startswith(about)]


def _times(
    runs: Runs, claim: Spec
) -> Iterator[tuple[Family, float, float, float, float, list[Source]]]:
    """The families of which all three paths were timed: encoding, then each path's search, in ms.

    The paper's times include encoding the query, which is the same for all three.
    """
    for of in _families(runs, claim):
        direct, deep, gated = (one.time("search") for one in of)
        if direct is not None and deep is not None and gated is not None:
            encoding = of.recollection.time("encode") or 0.0
            yield of, encoding, direct, deep, gated, [source for one in of for source in one.timed]


def faster_than_recollection(runs: Runs, claim: Spec) -> Iterator[ClaimCase]:
    """The gate takes less time than recollection alone."""
    for of, _, _, deep, gated, sources in _times(runs, claim):
        yield ClaimCase(of.gated.name, f"{gated:.2f} < {deep:.2f} ms", gated < deep, sources)


def between_in_time(runs: Runs, claim: Spec) -> Iterator[ClaimCase]:
    """The gate is at least as slow as familiarity, and at most as slow as recollection."""
    for of, _, direct, deep, gated, sources in _times(runs, claim):
        text = f"{direct:.2f} ≤ {gated:.2f} ≤ {deep:.2f} ms"
        yield ClaimCase(of.gated.name, text, direct <= gated <= deep, sources)


def nearly_twice_as_slow(runs: Runs, claim: Spec) -> Iterator[ClaimCase]:
    """Recollection's time over familiarity's lies where the printed ranges of times allow.

    Both ranges stand in the sentence; of their ratios the least is 15 / 10 and the most 20 / 8.
    """
    ends = printed_rows("text_computed")
    fast, slow = (
        [float(ends[f"§3.3: PersonaBench, {path}, {end} time (ms)"]["printed"])
         for end in ("least", "most")]
        for path in ("Familiarity", "Recollection")
    )  # fmt: skip
    least, most = slow[0] / fast[1], slow[1] / fast[0]
    for of, encoding, direct, deep, _, sources in _times(runs, claim):
        whole = (encoding + deep) / (encoding + direct)
        text = (f"{whole:.2f}× with encoding, as the paper times, {deep / direct:.2f}× alone; "
                f"by the printed times {least:.2f}× to {most:.2f}×")  # fmt: skip
        yield ClaimCase(of.recollection.name, text, least <= whole <= most, sources)


def searches_between(runs: Runs, claim: Spec) -> Iterator[ClaimCase]:
    """The gate searches less often than recollection, its probe counted."""
    for of in _families(runs, claim):
        deep, gated = of.recollection.searches, of.gated.searches
        if deep is not None and gated is not None:
            sources = [*of.recollection.traced, *of.gated.traced]
            text = f"{gated:.2f} of {deep:.2f} a query"
            yield ClaimCase(of.gated.name, text, gated < deep, sources)


def _tokens(runs: Runs, claim: Spec) -> Iterator[tuple[Family, list[float], list[Source]]]:
    """Mean tokens, question and docs, by familiarity, recollection and gate."""
    for of in _families(runs, claim):
        if all(one.is_counted for one in of):
            asked = of.gated.asked["tokens"]
            means = [float((asked + one.returned(of.k)["tokens"]).mean()) for one in of]
            yield of, means, [source for one in of for source in one.counted]


def tokens_alike(runs: Runs, claim: Spec) -> Iterator[ClaimCase]:
    """The gate's tokens differ from familiarity's by no more than at the same size in Table 1."""
    size = claim["size"]
    rows = [printed_rows("table1")[f"{size}, {path}"] for path in (
        "Dense Retrieval", "RF-Mem (ours)")]  # fmt: skip
    base, own = (numeric(cells["Avg. Tokens"]) for cells in rows)
    for of, (direct, _, gated), sources in _tokens(runs, claim):
        text = (f"{gated / direct:.3f}× ({gated - direct:+.1f}), in Table 1 {own / base:.3f}× "
                f"({own - base:+.1f})")  # fmt: skip
        holds = abs(gated / direct - 1) <= own / base - 1
        yield ClaimCase(of.gated.name, text, holds, sources)


def tokens_between(runs: Runs, claim: Spec) -> Iterator[ClaimCase]:
    """The gate's tokens lie between familiarity's and recollection's, as in all of Table 1."""
    for of, (direct, deep, gated), sources in _tokens(runs, claim):
        holds = min(direct, deep) <= gated <= max(direct, deep)
        text = f"gate {gated / direct:.3f}×, recollection {deep / direct:.3f}×"
        yield ClaimCase(of.gated.name, text, holds, sources)


def familiarity_is_default(runs: Runs, claim: Spec) -> Iterator[ClaimCase]:
    """More than half of the questions take familiarity."""
    for one in (of.gated for of in _families(runs, claim) if not of.gated.why_not):
        share = float((one.queries["path"] == "familiarity").mean())
        yield ClaimCase(one.name, f"{share:.1%}", share > 0.5, one.sources("queries"))


def stronger_recollects_more(runs: Runs, claim: Spec) -> Iterator[ClaimCase]:
    """Of two encoders the one with the higher recall by the gate recollects more questions.

    Recall by the gate is what Table 17 has beside the routes.
    """
    k = claim["k"]
    found: list[tuple[str, float, int, list[Source]]] = []
    for grid in (grid for grid in grids_of(OPEN) if grid.k == k):
        one = records_of(runs.profile).experiments[grid.run("gated")]
        if not one.why_not:
            sources = [*grid.sources("gated"), *one.sources("queries")]
            recall = float(grid.recall("gated").mean())
            found.append((grid.encoder.title, recall, len(one.recollected), sources))
    for (first, a, n, own), (second, b, m, other) in itertools.combinations(found, 2):
        text = f"{first} {a:.4f}, {n} recollected; {second} {b:.4f}, {m}"
        yield ClaimCase(f"K = {k}", text, (a > b) == (n > m), [*own, *other])


def stops_early(runs: Runs, claim: Spec) -> Iterator[ClaimCase]:
    """No recollected query that finds K docs uses up its rounds.

    One without them ends where nothing new is found (Algorithm 3, lines 13 and 14), or, by the
    released code for PersonaMem, goes on to the last round.
    """
    for one in (of.recollection for of in _families(runs, claim) if not of.recollection.why_not):
        limit, n = int(one.entry.parameters.get("rounds", 10)), len(one.queries)
        found = one.deep_hits.groupby("query_id").size()
        whole = found.index[found >= one.k]
        rounds = one.recollected.set_index("query_id")["rounds"]
        most = int(rounds[whole].max()) if len(whole) else limit
        text = f"{len(whole)} of {n} with {one.k} docs, {most} of {limit} rounds at most"
        yield ClaimCase(one.name, text, most < limit, one.sources("queries", "hits"))
