"""The tiered document's transcription: true to its text, its parameters are those of the code."""

import re
from importlib import import_module
from inspect import signature
from math import log
from pathlib import Path

import pytest

from memrepro.audit import documents
from memrepro.audit.verdicts import BY_READING
from memrepro.papers.tiered.decay import MONTH, WEEK, age_at, half_lives, rate_for
from memrepro.report.checks import checked_rows
from memrepro.report.document import Document
from memrepro.retrieve.tiered import scoring
from memrepro.retrieve.tiered.scoring import additive_recency, combined, half_life

DOCUMENT = Path(__file__).parents[4] / "shared" / "papers" / "003_328e0f776fdaed08.txt"
TABLES = {table.name: table for table in documents.tables("tiered")}
MARKDOWN_TABLES = {
    "Open-source implementations provide production-ready patterns": "systems",
    "Model selection for conversational text": "models",
    "Time decay formulas that work": "decay",
    "Vector database recommendation: LanceDB for local-first": "databases",
    "Technical stack summary": "stack",
}
# Columns that are this project's words about what is printed.
_OURS = {"section", "unit", "fields"}


def printed(table):
    """A table as printed: row → column → string."""
    return documents.printed_rows("tiered", table)


@pytest.fixture(scope="module")
def sections():
    """Heading → what stands under it until the next, without bold marks."""
    if not DOCUMENT.is_file():
        pytest.skip(f"{DOCUMENT} is not there: the document is not in the repository")
    text = DOCUMENT.read_text().replace("**", "")
    parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {h: f"{h}\n{body}" for h, body in zip(parts[1::2], parts[2::2], strict=True)}


def test_what_is_printed_stands_where_it_is_said_to(sections):
    for name, table in TABLES.items():
        for row, cells in printed(name).items():
            section = table.reading.get("section") or cells["section"]
            assert section in sections, (name, row)
            for column, shown in cells.items():
                if column not in _OURS:
                    assert shown in sections[section], (name, row, column)


def test_every_cell_of_the_documents_tables_is_there(sections):
    for section, name in MARKDOWN_TABLES.items():
        lines = [line for line in sections[section].splitlines() if line.startswith("|")]
        split = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        head, rows = split[0], split[2:]
        assert printed(name) == {
            cells[0]: dict(zip(head[1:], cells[1:], strict=True)) for cells in rows
        }
    assert sum(body.count("\n| -") for body in sections.values()) == len(MARKDOWN_TABLES)


def test_every_number_of_the_document_is_transcribed(sections):
    """Each number of the text stands in a printed cell, a name or a heading."""
    known = " ".join(
        [
            *sections,
            *(
                " ".join([row, *cells.values()])
                for name in TABLES
                for row, cells in printed(name).items()
            ),
        ]
    )
    found = set(re.findall(r"\d[\d.,]*\d|\d", known))
    names = re.compile(r"ada-002|GPT-3|p95|Llama-2|Apache 2\.0|Float32Array")
    example = re.compile(r"Instead of|Embed:")  # of a chat, with the times of its messages
    lost = {
        (number, line)
        for body in sections.values()
        for line in body.splitlines()
        if not example.match(line)
        for number in re.findall(r"\d[\d.,]*\d|\d", names.sub("", line))
        if number not in found
    }
    assert not lost


def test_the_listings_fields_are_the_documents(sections):
    for row, cells in printed("interfaces").items():
        body = sections[cells["section"]]
        if row == "computeMemoryScore":
            fields = list(dict.fromkeys(re.findall(r"memory\.(\w+)", body)))
        else:
            listing = body.split(f"interface {row} {{")[1].split("}")[0]
            fields = re.findall(r"^\s*(\w+)\??:", listing, flags=re.MULTILINE)
        assert cells["fields"].split(", ") == fields


SET_HERE = documents.without_run("tiered")["parameters"]["here"]["set here"]
# Row → module, name and value, of those that are set by a name of the code.
NAMED = {
    row: found.groups()
    for row, text in SET_HERE.items()
    if (found := re.match(r"(memrepro[\w.]+): (\S+) = (\([^)]*\)|[\w.]+)", text))
}


def test_every_parameter_says_where_it_is_set():
    assert set(SET_HERE) == set(printed("parameters"))
    assert len(NAMED) == 28


@pytest.mark.parametrize("row", sorted(NAMED))
def test_named_settings_are_the_defaults_and_within_what_is_printed(row):
    module, name, shown = NAMED[row]
    place = import_module(module)
    if name.startswith("CHANNEL_WEIGHTS"):
        value = place.channel_weight(re.search(r"\[(\w+)\]", name)[1])
    elif "." in name:
        value = getattr(getattr(place, name.split(".")[0])(), name.split(".")[1])
    elif "(" in name:
        function, argument = re.fullmatch(r"(\w+)\((\w+)\)", name).groups()
        value = signature(getattr(place, function)).parameters[argument].default
    else:
        value = getattr(place, name)
    assert str(value) == shown
    # '1.0 - 0.01' is a difference of two.
    numbers = re.findall(r"\d+(?:\.\d+)?", printed("parameters")[row]["printed"])
    values = value if isinstance(value, tuple) else (value,)
    low, high = min(map(float, numbers)), max(map(float, numbers))
    assert all(low <= float(one) <= high for one in values)


def test_claims_that_are_checked_have_a_check():
    claims = Document.of("tiered").claims["claims"]
    checked = {claim["said"][1] for claim in claims if "checked" in claim}
    assert checked <= set(checked_rows("tiered", "consistency"))


def test_half_lives():
    found = {one.rate: one for one in half_lives()}
    assert {rate: one.holds for rate, one in found.items()} == {
        0.01: False, 0.1: True, 0.001: True,
    }  # fmt: skip
    for one in found.values():
        assert additive_recency(one.hours, one.rate) == pytest.approx(0.5)
        assert half_life(rate_for(one.hours)) == pytest.approx(one.hours)
        assert half_life(one.rate_for_said) == pytest.approx(one.units * one.unit)
    assert pytest.approx(730.5) == MONTH


def test_ages():
    assert age_at(0.1, 0.01) == pytest.approx(log(0.1) / log(0.99))
    # A memory just accessed of cosine 0 meets one of cosine 0.5 when that is a half-life old.
    old = combined(0.5, 1.0, additive_recency(age_at(0.5, 0.01), 0.01))
    assert float(old) == pytest.approx(float(combined(0.0, 1.0, 1.0)))


def test_what_a_person_judged():
    read = {
        row: {cell.column: cell.reproduced for cell in cells}
        for row, cells in checked_rows("tiered", "consistency").items()
        if cells[0].verdict == BY_READING
    }
    assert {texts["verdict"] for texts in read.values()} == {"holds", "does not hold", "left open"}
    assert {tuple(texts) for texts in read.values()} == {
        ("verdict", "expected", "found", "how sure")
    }
    # The numbers in what was found are those of the code that runs.
    top = read["score that the thresholds are held against"]["found"]
    assert f"{age_at(0.85, 0.01):.1f} h" in top
    assert f"runs to {float(combined(1.0, 1.0, 1.0, 1.0, 5)):.1f}" in top
    recency = 1 - float(additive_recency(WEEK, 0.01))
    spread = read["recency beside similarity in the additive score"]["found"]
    assert f"spans {recency:.2f};" in spread


def test_the_buckets_are_the_printed_ones():
    ours = [weight for _, weight in scoring.BUCKETS]
    assert [float(cells["weight"]) for cells in printed("buckets").values()] == ours
