"""The registry: what it holds agrees with the mirror's manifest, and mistakes in it are named."""

import csv

import pytest

from memrepro.data.registry import RemoteFile, registration, registrations
from memrepro.errors import MemreproError
from tests.data.gathered import MIRROR

HASH = "0" * 64

ENTRY = f"""
one:
  name: a
  edition: first
  module: a
  licence: MIT
  citation: nobody
  homepage: https://example.org
  folder: a/
  address: https://example.org/files/
  files:
    - path: b.json
      sha256: '{HASH}'
      bytes: 3
"""


def read(folder, text):
    path = folder / "downloads.yaml"
    path.write_text(text, encoding="utf-8")
    return registrations(path)


def test_the_data_sets():
    known = registrations()
    assert {
        "personabench-n00", "personabench-n03", "personabench-n05", "personabench-n07",
        "longmemeval-oracle", "longmemeval-s", "longmemeval-m", "longmemeval-s-2024-10",
        "longmemeval-s-rfmem", "longmemeval-e47becba", "sample",
    } <= set(known)  # fmt: skip
    # Two keys may read one edition in two ways, such as a memory with and without what comes later.
    editions = {(entry.name, entry.edition) for entry in known.values()}
    assert len({entry.identity for entry in known.values()}) == len(editions)
    for key, entry in known.items():
        assert entry.key == key
        assert entry.licence
        assert entry.citation
        assert sum(map(bool, (entry.compiled, entry.files, entry.unhashed))) == 1


def test_the_files_are_those_of_the_manifest():
    manifest = MIRROR / "MANIFEST.csv"
    if not manifest.is_file():
        pytest.skip(f"no mirror: {manifest} is missing")
    with manifest.open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["sha256"]]
    # Two editions may lie at one path, so the hash is part of the key.
    by_file = {(row["path"], row["sha256"]): row for row in rows}
    for entry in registrations().values():
        if (
            entry.key in ("personamem-128k", "personamem-1m", "personamem-questions")
            or entry.name == "longmemeval-answers"
        ):
            continue  # the manifest knows 32k alone, and no file that a person puts in place
        for file in entry.files:
            row = by_file[file.path, file.sha256]
            assert file.bytes == (int(row["bytes"]) if row["bytes"] else None)
            assert file.url == (row["url"] if row["url"].startswith("http") else "")
            assert entry.licence == row["licence"]
            for other in file.instead:
                assert other.bytes == int(by_file[other.path, other.sha256]["bytes"])


def test_an_entry(tmp_path):
    one = read(tmp_path, ENTRY)["one"]
    assert one.files == (RemoteFile("a/b.json", "https://example.org/files/b.json", HASH, 3),)
    assert not one.compiled
    (no_address,) = read(tmp_path, ENTRY.replace("https://example.org/files/", "''"))["one"].files
    assert no_address.url == ""
    other = f"      instead: [{{path: c.json, sha256: '{'1' * 64}', bytes: 2}}]\n"
    (either,) = read(tmp_path, ENTRY + other)["one"].files
    assert either.accepted == {HASH: either, "1" * 64: RemoteFile("a/c.json", "", "1" * 64, 2)}
    (unconfirmed,) = read(tmp_path, ENTRY.replace(f"'{HASH}'", "null"))["one"].files
    assert unconfirmed.sha256 is None


def test_the_identity_is_name_edition_and_hashes(tmp_path):
    identity = read(tmp_path, ENTRY)["one"].identity
    same = ENTRY.replace("example.org", "example.com").replace("b.json", "c.json")
    assert read(tmp_path, same)["one"].identity == identity
    for old, new in (("name: a", "name: b"), ("first", "second"), (HASH, "1" * 64)):
        assert read(tmp_path, ENTRY.replace(old, new))["one"].identity != identity


def test_an_unknown_data_set_is_answered_with_the_known_ones():
    with pytest.raises(MemreproError, match=r"'personabench'.*personabench-n00.*sample"):
        registration("personabench")
    with pytest.raises(MemreproError) as refused:
        registration("s" * 300)
    assert len(str(refused.value)) <= 560


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  licence:", "  license:", "unknown key 'license'"),
        ("  licence: MIT\n", "", "lacks 'licence'"),
        ("edition: first", "edition: 1.0", "write it as text"),
        (ENTRY, "- one", "no data sets by key"),
        (ENTRY, "one: 1", "as a mapping"),
        ("      bytes: 3", "      bytes: many", "whole number"),
        ("folder: a/", "folder: /a/", "outside the data folder"),
        (HASH, "12", "64 lower-case hex digits"),
        ("  name: a", "  name: a\n  compiled: 'yes'", "true or false"),
    ],
)
def test_a_mistake_is_named(tmp_path, old, new, said):
    assert old in ENTRY
    with pytest.raises(MemreproError, match=said):
        read(tmp_path, ENTRY.replace(old, new))


def test_no_files_and_a_path_twice_are_refused(tmp_path):
    head, file = ENTRY.split("    - ")
    with pytest.raises(MemreproError, match="no list of files"):
        read(tmp_path, head)
    with pytest.raises(MemreproError, match="twice"):
        read(tmp_path, f"{head}    - {file}    - {file}")


@pytest.mark.parametrize("path", ["/a", "../a", "a/../../b", "a\\b", "", "."])
def test_a_path_out_of_the_folder_is_refused(path):
    with pytest.raises(MemreproError, match="outside the data folder"):
        RemoteFile(path, "", HASH, 1)
