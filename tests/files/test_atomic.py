"""Files: atomic, byte-stable, and one sentence for whatever is wrong."""

import csv
import errno
import itertools
import os

import pandas as pd
import pytest

from memrepro.errors import MemreproError
from memrepro.files import atomic, given


def test_tables_round_trip_and_are_byte_stable(tmp_path):
    frame = pd.DataFrame({"query_id": ["q1", "q2"], "score": [0.5, -1.25], "rank": [1, 2]})
    for name in ("t.parquet", "t.csv"):
        atomic.write_table(tmp_path / name, frame)
        first = (tmp_path / name).read_bytes()
        atomic.write_table(tmp_path / name, frame)
        assert (tmp_path / name).read_bytes() == first
    pd.testing.assert_frame_equal(atomic.read_table(tmp_path / "t.parquet"), frame)
    assert atomic.read_table(tmp_path / "t.csv")["score"].tolist() == ["0.5", "-1.25"]


FORMULAS = (
    "=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-x", "\t=1", "\n=1", "'=1", "''@a", "+1+1", "-1/2",
    "-1+cmd|'/C_calc'!A0", "-1 / 2", "-1 / cmd|'/C calc'!A0", "+1 [1, 2], won 1|2", "-1 (A1)*2",
    "-1 (cmd|'/C calc'!A0)", "+1 [Book]Sheet!A1", "-1%", "＝1+1", "＋1", "－1", "＠SUM(A1)", "'-1'",
    "\r=1+1", "\r\n=1", " =1+1", "\u00a0=1", "\ufeff=1", "\u200b+1+1", "\0=1", "﹦1+1", "--1",
    "+-1", "-1 / A1 (3)", "+1 → A1", "-1*2", "-1\n", "+1,000",
)  # fmt: skip
# As tables show differences and intervals; no spreadsheet reads one of them as a formula.
NONE = (
    "-0.5 [-1, 2]", "+0.5 [-0.1, +.2], won 2, lost 4, by 9 persons", "-0.1 / 0.0 / +0.1 (11)",
    "+0.1 → -0.2 → 0", "-0.1 (LoCoMo rounds, all-MiniLM-L6-v2)", "+.5", "-1e-05", "-", "'quoted'",
    "'-1", "a=b", "", "− 1", "a\r=1+1", " -1", "|cmd",
)  # fmt: skip


def test_a_spreadsheet_finds_no_formula_in_a_csv(tmp_path):
    texts = [*FORMULAS, *NONE]
    frame = pd.DataFrame({"a": texts, "b": pd.Categorical(texts), "=n": range(len(texts))})
    atomic.write_table(tmp_path / "t.csv", frame)
    with (tmp_path / "t.csv").open(newline="") as file:
        heads, *written = csv.reader(file)
    assert heads == ["a", "b", "'=n"]
    assert [row[:2] for row in written] == [[f"'{text}"] * 2 for text in FORMULAS] + [
        [text] * 2 for text in NONE
    ]
    found = atomic.read_table(tmp_path / "t.csv")
    assert list(found) == list(frame)
    assert found["a"].tolist() == found["b"].tolist() == texts
    atomic.write_table(tmp_path / "again.csv", found)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "t.csv"
    atomic.write_text(path, "old\n")
    with pytest.raises(RuntimeError), atomic.replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("name", ["a pipe", "/dev/none-of-ours.csv", "/proc/self/fd/9", "/"])
def test_no_file_takes_the_place_of_a_device_or_a_pipe(tmp_path, name):
    """Root could: `--output /dev/null` would be the machine's last."""
    os.mkfifo(tmp_path / "a pipe")
    with pytest.raises(MemreproError, match="is no place for a file: name one in a folder"):
        atomic.write_text(tmp_path / name, "text\n")
    assert os.listdir(tmp_path) == ["a pipe"]
    assert (tmp_path / "a pipe").is_fifo()


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "read-only"), (errno.EACCES, "read-only")],
)
def test_full_disk_and_read_only_folder(tmp_path, monkeypatch, number, sentence):
    path = tmp_path / "results" / "t.csv"
    atomic.write_text(path, "old\n")

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(atomic.Path, "write_text", refuse)
    with pytest.raises(MemreproError, match=sentence) as error:
        atomic.write_text(path, "new\n")
    assert str(path) in str(error.value)
    assert "what was there is unchanged" in str(error.value)
    assert path.read_text() == "old\n"
    assert os.listdir(path.parent) == ["t.csv"]


def test_a_really_full_disk(tmp_path):
    """/dev/full answers every write with ENOSPC."""
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with (
        pytest.raises(MemreproError, match="the disk is full"),
        atomic.replacing(tmp_path / "t.csv"),
        open("/dev/full", "w") as full,
    ):
        full.write("x" * 100_000)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b'[{"a": 1}, {"b": ',
            "is not valid JSON: .* at line 1 column 18 of 17 bytes; it is trunc",
        ),
        (b'"\xe9"', "not UTF-8"),
    ],
)
def test_damaged_json(tmp_path, content, sentence):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(MemreproError, match=sentence):
        atomic.read_json(tmp_path / "x.json")


def test_damaged_yaml_and_parquet(tmp_path):
    (tmp_path / "x.yaml").write_text("a: [1")
    with pytest.raises(MemreproError, match=r"x\.yaml is not valid YAML"):
        atomic.read_yaml(tmp_path / "x.yaml")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(MemreproError, match=r"x\.parquet cannot be read as a table"):
        atomic.read_table(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    "read", [atomic.read_json, atomic.read_yaml, atomic.read_table, atomic.sha256]
)
def test_missing(tmp_path, read):
    with pytest.raises(MemreproError, match="is missing: name a file that is there"):
        read(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("results/sample/manifest.json", "`make repro PROFILE=sample` makes it anew"),
        ("results/open/latency/a.csv", "`git restore results/open/latency/a.csv` brings back"),
        ("data/raw/locomo/locomo10.json", "`make repro PROFILE=open` makes it anew"),
        ("data/metrics/open.parquet", "`make repro PROFILE=open` makes it anew"),
        ("params.yaml", "repair it, or name another file"),
        ("../elsewhere.jsonl", "name a file that is there"),
    ],
)
def test_a_made_file_has_its_command_and_nobodys_own_is_to_be_deleted(place, said):
    assert atomic.remedy(atomic.root() / place).startswith(said)


def test_a_file_is_as_readable_as_it_was_or_as_the_umask_has_it(tmp_path):
    before = os.umask(0o077)
    try:
        atomic.write_text(tmp_path / "mine", "new")
        (tmp_path / "shared").touch()
        (tmp_path / "shared").chmod(0o664)
        atomic.write_table(tmp_path / "shared", pd.DataFrame({"a": [1]}))
    finally:
        os.umask(before)
    modes = [oct((tmp_path / name).stat().st_mode & 0o777) for name in ("mine", "shared")]
    assert modes == ["0o600", "0o664"]


def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MemreproError, match="no repository"):
        atomic.root()


# A line merges the one before it nine times: the last would take minutes and all memory.
MERGES = "".join(
    f"{one}: &{one} {{<<: [{', '.join([f'*{before}'] * 9)}]}}\n"
    for before, one in itertools.pairwise("abcdefghijkl")
)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (atomic.read_yaml, "a: " + "[" * 99_999),
        (atomic.read_yaml, "at: 2023-13-45"),
        (atomic.read_yaml, "a: &a {x: 1}\n" + MERGES),
        (atomic.read_yaml, "a: &a {}\n" + MERGES.replace("{<<: ", "").replace("]}", "]")),
        (atomic.read_yaml, f"[&a '{'x' * 10_000}'" + ", *a" * 10_000 + "]"),
        (atomic.read_json, "[" * 99_999),
        (atomic.read_json, "9" * 5000),
        (given.numbered_json_lines, "9" * 5000),
        (given.numbered_json_lines, "[" * 99_999),
        (given.read_json, '"\\ud800' + "[" * 99_999),
    ],
)
def test_what_a_parser_gives_up_on_is_one_sentence(tmp_path, read, text):
    path = tmp_path / "odd"
    path.write_text(text)
    with pytest.raises(MemreproError, match="odd") as error:
        read(path)
    assert len(str(error.value)) <= 1000


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202egnp", "\\u202egnp"),
        ("a\nb", "a b"),
        ("\ud800", "\\ud800"),
    ],
)
def test_an_error_prints_as_one_sentence_whatever_its_item_holds(item, shown):
    assert str(MemreproError(f"the item {item} is odd")) == f"the item {shown} is odd"
    long = str(MemreproError(f"the item {item * 4000} is odd"))
    assert len(long) <= 1000
    assert (long[:9], long[-7:]) == ("the item ", " is odd")
