"""Rehearsed data beside the real files at hand: the same schema, lengths and oddities."""

import csv
import json
import os
import subprocess
import sys
from statistics import mean

import pytest

from memrepro.core import prepared
from memrepro.data import longmemeval, personabench, personamem
from memrepro.data.registry import registration
from memrepro.errors import MemreproError
from memrepro.rehearse import haystacks
from memrepro.rehearse.data import write_data
from memrepro.text.lengths import count_tokens
from tests.data.gathered import gather, in_mirror

SCALE = 1 / 50
KEYS = (
    "longmemeval-oracle", "longmemeval-s", "longmemeval-m", "personabench-n00", "personabench-n05",
    "personabench-n07", "personamem-32k",
)  # fmt: skip
NOISES = ("personabench-n00", "personabench-n03", "personabench-n05", "personabench-n07")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rehearsed")
    write_data(folder, SCALE)
    return folder


def path_of(folder, key):
    (file,) = registration(key).files
    return folder / file.path


@pytest.fixture(scope="module")
def instances(written):
    keys = ("longmemeval-oracle", "longmemeval-s", "longmemeval-m")
    return {key: json.loads(path_of(written, key).read_bytes()) for key in keys}


def shape(value, at="", free=("segment_id", "answer/*")):
    """(place, type) of all that a JSON value holds; keys below `free`, and of lists, are '*'."""
    yield at, type(value).__name__
    if isinstance(value, dict):
        for key, one in value.items():
            yield from shape(one, f"{at}/{'*' if at.endswith(free) else key}")
    elif isinstance(value, list):
        for one in value:
            yield from shape(one, f"{at}/*")


def test_an_instance_is_like_the_real_one(instances):
    (real,) = json.loads(
        path_of(in_mirror("longmemeval-e47becba"), "longmemeval-e47becba").read_bytes()
    )
    ours = instances["longmemeval-s"]
    # The real one has none of the oddities, as the seventh and later have none.
    plain = next(one for one in ours[7:] if one["answer"] and isinstance(one["answer"], str))
    assert set(shape(plain)) == set(shape(real))
    assert list(plain) == list(real)

    def lengths(found):
        """Characters of a turn and of a session, turns of a session, tokens of an answer."""
        talks = [talk for one in found for talk in one["haystack_sessions"]]
        turns = [turn["content"] for talk in talks for turn in talk]
        answers = [t["content"] for talk in talks for t in talk if t["role"] == "assistant"][:250]
        characters = sum(map(len, turns))
        return (
            characters / len(turns), characters / len(talks), len(turns) / len(talks),
            mean(map(count_tokens, answers)),
        )  # fmt: skip

    for ours_has, real_has in zip(lengths(ours), lengths([real]), strict=True):
        assert ours_has == pytest.approx(real_has, rel=0.2)


@pytest.mark.parametrize("key", ["longmemeval-oracle", "longmemeval-s", "longmemeval-m"])
def test_the_reader_of_haystacks_takes_them(written, tmp_path, key):
    path = path_of(written, key)
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / path.name).symlink_to(path)
    found = gather(prepared.save(longmemeval.stream(folder, key), tmp_path / "prepared"))
    assert len(found.queries) == 10
    assert set(found.faults.values()) == set()
    assert len(list(longmemeval.gold(folder, key))) == 10
    reasons = [reason for _, reason in found.skipped]
    if key != "longmemeval-oracle":
        assert any("stands twice, with the same contents" in reason for reason in reasons)
        assert "it has no turns" in reasons
    # The unflagged question's sessions are gold, and its turns are not.
    unflagged = next(q.query_id for n, q in enumerate(found.queries) if haystacks.UNFLAGGED(n))
    assert unflagged in found.qrels["session"]
    assert unflagged not in found.qrels["turn"]


@pytest.mark.parametrize("key", NOISES)
def test_persons_are_like_the_real_ones(written, key):
    real = in_mirror(key if key in NOISES[:2] else "personabench-n00")
    for file in registration(key).files:
        other = file.path.replace("noise_0.5", "noise_0.0").replace("noise_0.7", "noise_0.0")
        ours, theirs = (json.loads(p.read_bytes()) for p in (written / file.path, real / other))
        assert set(shape(ours)) == set(shape(theirs)), file.path
    found = gather(personabench.stream(written, key))
    assert not found.faults
    assert not found.skipped
    assert {query.kind for query in found.queries} == set(personabench.KINDS)
    assert len(found.memories) == 6
    assert any(len(part) > 1 for parts in found.qrels["session"].values() for part in parts)


def said_of(folder, size):
    text = (folder / f"personamem/shared_contexts_{size}.jsonl").read_text("utf-8")
    lines = text.strip("\n").split("\n")  # a text may hold other line separators
    return {key: turns for line in lines for key, turns in json.loads(line).items()}


@pytest.mark.parametrize("size", ["32k", "128k", "1M"])
def test_contexts_are_like_the_real_ones(written, size):
    real = in_mirror("personamem-32k")
    ours, theirs = said_of(written, size), said_of(real, "32k")
    assert set(shape(list(ours.values()))) == set(shape(list(theirs.values())))
    for role in ("system", "user", "assistant"):
        lengths = [
            mean(len(t["content"]) for turns in found.values() for t in turns if t["role"] == role)
            for found in (ours, theirs)
        ]
        assert lengths[0] == pytest.approx(lengths[1], rel=0.2)
    wanted = {"32k": 175, "128k": 736, "1M": 3548}[size]
    assert mean(map(len, ours.values())) == pytest.approx(wanted, rel=0.1)
    heads, numeric = [], []
    for folder, name in ((written, size), (real, "32k")):
        with (folder / f"personamem/questions_{name}.csv").open(
            encoding="utf-8", newline=""
        ) as file:
            rows = list(csv.DictReader(file))
        heads.append(list(rows[0]))
        numeric.append({key for key in rows[0] if all(row[key].isdecimal() for row in rows)})
        assert {len(row["question_id"]) for row in rows} == {36}
        assert all(row["correct_answer"] in ("(a)", "(b)", "(c)", "(d)") for row in rows)
    assert heads[0] == heads[1]
    assert numeric[0] == numeric[1]


def test_the_reader_of_contexts_takes_them(written):
    found = gather(personamem.stream(written, "personamem-32k"))
    assert not found.faults
    assert not found.skipped
    assert len({query.kind for query in found.queries}) == 7
    checked = personamem.evidence(written, "personamem-32k")
    exact = [check for check in checked if "option" not in check]
    assert len(exact) == 5
    for check in exact:
        met, of = checked[check]
        assert met == of == len(found.queries), check
    gold = list(personamem.gold(written, "personamem-32k"))
    assert any(len(set(one.options)) < 4 for one in gold)


def test_the_same_scale_and_seed_give_the_same_bytes(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    write_data(here, 1 / 1000)
    code = "import sys, pathlib; from memrepro.rehearse.data import write_data; "
    code += "write_data(pathlib.Path(sys.argv[1]), 1 / 1000)"
    away = {**os.environ, "PYTHONHASHSEED": "5", "TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8"}
    subprocess.run([sys.executable, "-c", code, str(there)], check=True, env=away)
    files = sorted(path.relative_to(here) for path in here.rglob("*") if path.is_file())
    assert {file.path for key in KEYS for file in registration(key).files} <= set(map(str, files))
    for path in files:
        assert (here / path).read_bytes() == (there / path).read_bytes(), path
    write_data(there, 1 / 1000, seed=18)
    assert not any((here / p).read_bytes() == (there / p).read_bytes() for p in files)


@pytest.mark.parametrize("scale", [0, -1.0, 1.5, float("nan")])
def test_a_scale_that_is_none_is_refused(tmp_path, scale):
    with pytest.raises(MemreproError, match="scale is above 0 and at most 1"):
        write_data(tmp_path, scale)
