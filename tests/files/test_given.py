"""Files that people give: their text is the same whatever program wrote them."""

import gzip
import json
import zipfile

import pandas as pd
import pytest

from memrepro.errors import MemreproError
from memrepro.files import given
from memrepro.memory.exchange import importers
from memrepro.outside import forms

# Every separator that Python's `splitlines` breaks at, within an id and a text.
ODD = "a\u2028b\x85c\x0cd\x0be\x1cf\u2029g\u00a0h"
ROWS = [{"id": "first", "text": "é"}, {"id": ODD, "text": "two"}]
LINES = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)


@pytest.mark.parametrize(
    "written",
    [
        LINES.encode(), LINES.encode("utf-8-sig"), LINES.encode("utf-16"),
        LINES.replace("\n", "\r\n").encode(), f"\n\n{LINES}\n\n".encode(),
        LINES.replace("\n", "\n\ufeff").encode("utf-8-sig"), f"\ufeff{LINES}".encode("utf-8-sig"),
        gzip.compress(LINES.encode("utf-8-sig"), mtime=0), json.dumps(ROWS).encode(),
        b"\xef\xbb\xbf " + json.dumps(ROWS, indent=1, ensure_ascii=False).encode(),
    ],
)  # fmt: skip
def test_json_lines_are_the_same_of_any_program(tmp_path, written):
    (tmp_path / "a.jsonl").write_bytes(written)
    assert [row for _, row in given.numbered_json_lines(tmp_path / "a.jsonl")] == ROWS


def test_half_a_surrogate_pair_is_a_question_mark(tmp_path):
    (tmp_path / "a.json").write_text(r'{"\ud800a": ["\udfff", "\ud83d\ude00"]}')
    assert given.read_json(tmp_path / "a.json") == {"?a": ["?", "\U0001f600"]}


@pytest.mark.parametrize("comma", [",", ";", "\t"])
def test_the_cells_of_a_table_are_the_same_whatever_parts_them(tmp_path, comma):
    rows = [["question_id", "label"], ["q;1,\t", "yes"], ["q2", 'say "no"']]
    quoted = [[f'"{cell}"'.replace('say "no"', 'say ""no""') for cell in row] for row in rows]
    text = "\r\n".join(comma.join(row) for row in quoted)
    (tmp_path / "a.csv").write_bytes(text.encode("utf-8-sig"))
    found = given.named_rows(tmp_path / "a.csv", ["label"])
    stripped = [[cell.strip() for cell in row] for row in rows[1:]]
    assert found == [(n, dict(zip(rows[0], row, strict=True))) for n, row in enumerate(stripped, 2)]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"ok\ncaf\xe9", "is not in UTF-8 from byte 6 on, in line 2: save it as UTF-8"),
        (b"\x1f\x8b\x08no", "cannot be read"),
        (gzip.compress(b"{}" * 99, mtime=0)[:20], "cannot be read"),
        (b'{"a": 1}\n{"a": ', "line 2: no JSON"), (b"9" * 5000, "line 1: no JSON"),
        (None, "is missing: name a file that is there"),
    ],
)  # fmt: skip
def test_what_is_no_such_text_is_one_sentence_that_deletes_nothing(tmp_path, content, sentence):
    if content is not None:
        (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(MemreproError, match=sentence) as error:
        given.numbered_json_lines(tmp_path / "a.jsonl")
    assert "delete" not in str(error.value)


def test_what_unpacks_to_more_than_one_reads_at_once_is_refused(tmp_path, monkeypatch):
    """As gz, as a chat's archive, and as parquet, where a few bytes stand for many rows."""
    text = b'{"id": "a"}\n' * 99
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text, mtime=0))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", text)
    pd.DataFrame({"query_id": ["q"] * 99, "doc_id": "d", "rank": 1}).to_parquet(
        tmp_path / "a.parquet"
    )
    monkeypatch.setattr(given, "_MOST", len(text) - 1)
    monkeypatch.setattr(forms, "_MOST_ROWS", 98)
    for read, name, sentence in (
        (given.numbered_json_lines, "a.jsonl.gz", "GB unpacked: split it"),
        (importers.form_of, "a.zip", "GB unpacked: split it"),
        (forms.run_rows, "a.parquet", "has 99 rows; at most 98: split it"),
    ):
        with pytest.raises(MemreproError, match=sentence):
            read(tmp_path / name)
