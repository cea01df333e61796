"""The committed ledger sees every run, and a count in a sentence is the ledger's or the claims'."""

import json
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from memrepro.audit import claims, counts, coverage
from memrepro.audit.documents import documents, printed_rows, tables
from memrepro.audit.tables import AND, reference
from memrepro.audit.verdicts import EXACT, JUDGED, NOT_REPRODUCED, PICKED
from memrepro.report import narrative
from memrepro.study.params import load_plan

RESULTS = Path(__file__).parents[2] / "results"
TOLD = [
    (paper, profile)
    for paper in [*narrative.documents(), "audit"]
    for profile in narrative.read_entries(paper)["profiles"]
    if paper in load_plan().reports[profile]
]


def read(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def numbers():
    """Every printed number with its outcome."""
    return read(RESULTS / "open" / "audit" / "numbers.csv")


def judged_cells(document):
    """Every computed cell of a document's report that is judged by a printed number."""
    for path in sorted((RESULTS / "open" / document).glob("*.csv")):
        table = read(path)
        if {"reported", "verdict"} <= set(table):
            table = table.reindex(columns=list(dict.fromkeys([*table, "printed"])), fill_value="")
            chosen = table["verdict"].isin(JUDGED) & (table["reproduced"] != "")
            counted = path.stem.endswith("_figure9_text")  # of the data, by a text's claims
            own = counted | ~table["metric"].isin(["claim", "cases"])
            own &= table["reported"] != ""
            for cell in table[chosen & own].to_dict("records"):
                yield path.stem, cell


@pytest.mark.parametrize("document", documents())
def test_where_a_run_computed_a_printed_number_its_outcome_is_of_a_run(document, numbers):
    own = numbers[numbers["document"] == document]
    known = {reference(*of): o for *of, o in own[["table", "row", "column", "outcome"]].to_numpy()}
    shown = {
        reference(table.name, row, column): text
        for table in tables(document)
        for row, cells in printed_rows(document, table.name).items()
        for column, text in cells.items()
    }
    computed = set()
    for name, cell in judged_cells(document):
        where = (name, cell["row"], cell["column"])
        assert cell["printed"] in shown or AND in cell["printed"], where
        if AND not in cell["printed"]:
            assert shown[cell["printed"]] == cell["reported"], where
            computed.add(cell["printed"])
    by_run = {place for place, outcome in known.items() if outcome in coverage.BY_RUN}
    assert by_run == computed & set(known)  # a dash and a word are printed, and no numbers


def test_a_run_at_the_released_setting_counts_before_one_that_was_picked(numbers):
    """Table 17: 26 and 237 questions, 0.3965; with τ picked 15, 248 and, of others, 0.4009."""
    of = numbers[(numbers["table"] == "table17") & (numbers["row"] == "mpnet")]
    outcomes = of.set_index("column")["outcome"].drop("Time")
    assert outcomes.to_dict() == dict.fromkeys(
        ["Route→Famili.", "Route→Recol.", "R@5 Overall"], coverage.RUN_DIFFERS
    )


def test_the_readme_and_the_start_page_count_the_ledger(numbers):
    counted = coverage.by_outcome(numbers)
    pd.testing.assert_frame_equal(
        counted.astype(str), read(RESULTS / "open" / "audit" / "counts.csv")
    )
    readme = " ".join((RESULTS.parent / "README.md").read_text().split())
    assert f"The five documents print {counts.counts_in_words(counted, 'all')}." in readme


@pytest.mark.parametrize(("paper", "profile"), TOLD)
def test_a_sentence_counts_claims_and_verdicts_as_they_are_counted(paper, profile, numbers):
    told = narrative.read_entries(paper)["profiles"][profile].get("found", ())
    values = narrative.Values(profile, paper)
    notebook = json.loads((RESULTS / profile / paper / "report.ipynb").read_text("utf-8"))
    said = json.dumps(notebook, ensure_ascii=False)
    for one in told:
        sentence = one if isinstance(one, str) else one["says"]
        ours_too = r"\{count: \S*claims(?![^}]*row!=not in the paper…)"
        assert not re.search(ours_too, sentence), "a count of claims leaves out our own"
        counts_there = re.findall(r"\{(?:count|outcomes|claims): [^{}]+\}", sentence)
        for placeholder in counts_there:
            filled = values.fill(placeholder)
            assert filled in said, placeholder
            if found := re.fullmatch(r"\{claims: (\w+)\}", placeholder):
                assert counts_told(filled) == recounted(profile, found[1])
            if found := re.fullmatch(r"\{count: (\w+) \| verdict=(.+)\}", placeholder):
                of = numbers[(numbers["document"] == paper) & (numbers["table"] == found[1])]
                # What no document prints, such as another project's scores, is not in the ledger.
                if len(of) and (outcome := OF_VERDICT.get(found[2])):
                    assert int(filled) == (of["outcome"] == outcome).sum(), placeholder


OF_VERDICT = {
    EXACT: coverage.RUN_EXACT, PICKED: coverage.RUN_PICKED, NOT_REPRODUCED: coverage.RUN_DIFFERS,
}  # fmt: skip
SAID = {
    "claims": "all", "hold": claims.HOLDS, "holds": claims.HOLDS, "do": claims.FALLS,
    "does": claims.FALLS, "are": claims.UNDECIDED, "is": claims.UNDECIDED,
    "cannot": claims.UNCHECKED,
}  # fmt: skip


def counts_told(text):
    """What a sentence on claims says, by class."""
    text = text.replace("hold in their direction", "direction")
    return {SAID.get(word, word): int(n) for n, word in re.findall(r"(\d+) (\w+)", text)}


def recounted(profile, document):
    """The same from the tables: each claim of the document once for each class of its verdicts."""
    found = set()
    for path in (RESULTS / profile / document).glob("*claims.csv"):
        table = read(path)
        for cell in table[table["column"] == "verdict"].to_dict("records"):
            if not cell["row"].startswith(("not in the paper", "not in the document")):
                found.add((cell["row"], classed(cell["reproduced"])))
    return Counter(of for _, of in found) | {"all": len({row for row, _ in found})}


def classed(verdict):
    """The class that a verdict in words begins with; what was not run is not checked either."""
    if verdict.startswith("in this direction only"):
        return "direction"
    beginnings = (claims.HOLDS, claims.FALLS, claims.UNDECIDED)
    return next((one for one in beginnings if verdict.startswith(one)), claims.UNCHECKED)


def test_an_undecided_claim_is_marked_neither_met_nor_missed():
    for path in RESULTS.glob("*/*/*claims.csv"):
        table = read(path)
        if {"column", "verdict"} <= set(table):
            of = (table["column"] == "verdict") & table["reproduced"].str.startswith("undecided")
            assert not set(table.loc[of, "verdict"]) & {EXACT, NOT_REPRODUCED}, path
