"""The tiered document's transcription: true to its text, its parameters are those of the code."""

import re
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from memrepro.audit import documents

DOCUMENT = Path(__file__).parents[4] / "shared" / "papers" / "003_328e0f776fdaed08.txt"
TABLES = {table.name: table for table in documents.tables("tiered")}
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
