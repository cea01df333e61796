"""Documents that are data: what their tables and claims name is planned and printed."""

import pytest

from memrepro.audit.verdicts import NOT_RUN
from memrepro.report.build import repeated
from memrepro.report.document import Document
from memrepro.report.specs import as_spec, as_specs, filled, loops, metric_of
from memrepro.study.params import load_plan

DOCUMENTS = ("maxsim", "longmemeval", "associa", "tiered")
PROFILES = ("sample", "open", "full")
# Runs of rows that are 'not run' in the profile, of which the tables say so.
UNPLANNED = (
    "incremental", "clustering", "-gw", "-nlp", "tiered", "-words", "-values", "-ranks", "-windows",
    "-pooled", "-rounds", "-asked-",
)  # fmt: skip


@pytest.fixture(scope="module")
def planned():
    plan = load_plan()
    return {**plan.experiments, **plan.sweeps}


def specs_of(document, name, study, profile):
    """The filled specs of a table's cells, before settings and kinds are split."""
    table = {**study, **document.tables[name]}
    table |= table.get("by profile", {}).get(profile, {})
    for choice in loops(table.get("over", {})):
        for _, row in as_specs(table.get("rows", {}), document.named):
            for label, column in as_specs(table.get("columns", ()), document.named):
                yield {**table, **choice, **row, **metric_of(label), **column}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_table_names_runs_of_its_data_set(name, profile, planned):
    document, found = Document.load(name), 0
    for table, entry in document.tables.items():
        if entry.get("what") or profile not in entry.get("profiles", [profile]):
            continue
        for study in repeated(document, profile, entry):
            for spec in specs_of(document, table, study, profile):
                one = filled({**spec, "row": ""}, planned)
                if not one.get("run"):
                    assert one.get("why") or one.get("call"), (table, spec)
                    continue
                if one["run"] not in planned:
                    told = one.get("why") or one.get("optional")
                    assert told or any(p in one["run"] for p in UNPLANNED), (table, one["run"])
                    continue
                run = planned[one["run"]]
                assert run.profile == profile
                assert one.get("each") or one["level"] in (run.granularity, "session")
                found += 1
    assert found


@pytest.mark.parametrize("table", ["table3", "table4", "table9", "table10"])
def test_each_printed_cell_of_retrieval_is_planned(table, planned):
    document = Document.load("longmemeval")
    (study,) = repeated(document, "full", document.tables[table])
    printed = document.printed(table)
    entry = document.tables[table]
    assert list(printed) == list(entry["rows"])
    assert list(next(iter(printed.values()))) == list(entry["columns"])
    named = as_specs(entry["rows"], document.named)
    for row, row_spec in named:
        for column, column_spec in as_specs(entry["columns"], document.named):
            spec = {**study, **entry, **row_spec, **metric_of(column), **column_spec, "row": row}
            one = filled(spec, planned)
            if not one.get("run"):
                assert (one["metric"], one["verdict"]) == ("accuracy", NOT_RUN)
            elif printed[row][column] != "-":
                run = planned[one["run"]]
                assert (run.profile, run.dataset) == ("full", "longmemeval-m")
                assert one["setting"] in run.variants(), (row, column)
                assert one["level"] == run.granularity
                assert one["level"] in f"{row} {column}".lower()
                assert ("verdict" in one) == ("+" in one["setting"] or "time" in one["run"])


@pytest.mark.parametrize("name", ["associa", "tiered"])
def test_claims_name_rows_and_printed_words(name):
    document = Document.load(name)
    for claim in document.claims["claims"]:
        if isinstance(said := claim.get("said"), list):
            assert document.printed(said[0])[said[1]]["printed"]
        sides = [side for pair in claim.get("pairs", ()) for side in pair[:2]]
        for which in ("better", "worse"):
            side = claim.get(which, [])
            sides += side if isinstance(side, list) else [side]
        for side in sides:
            assert (side["as"] if isinstance(side, dict) else side) in document.named
            assert as_spec(side, document.named)["run"]
        ways = [key for key in ("unchecked", "reading", "checked", "cases") if key in claim]
        assert len(ways) + bool(sides) == 1, claim


def test_every_claim_and_number_of_the_tiered_document_has_one_answer():
    document = Document.load("tiered")
    rows = [tuple(c["said"]) for c in document.claims["claims"] if "said" in c]
    printed = [(t, row) for t in ("claims", "numbers") for row in document.printed(t)]
    assert rows == printed
