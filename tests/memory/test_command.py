"""The command line over a memory: what is typed, what is shown, and what is said to be wrong."""

import argparse
import json
from pathlib import Path

import pytest

from memrepro.errors import MemreproError
from memrepro.memory.actions import read_messages
from memrepro.memory.command import add_commands
from memrepro.memory.folders import lock, user_folder
from memrepro.pipeline.cli import main
from memrepro.rehearse.server import Content, serving
from tests.memory.store_made import all_bytes

LINES = [
    {"message_id": "m1", "speaker": "user", "at": "2023-05-08T13:56", "text": "I live in Oslo"},
    {"message_id": "m2", "speaker": "user", "at": 1683554220, "text": "I like\njazz \x1b[31m",
     "channel": "cli"},
    {"message_id": "m3", "speaker": "user", "at": "2023-05-08T16:00:00+02:00", "text": "a parrot"},
    {"message_id": "m4", "speaker": "user", "at": "2023-05-09T10:00Z", "text": "the end"},
]  # fmt: skip
NOW = "2023-05-09T12:00"
ASKED = "2023 05 08 user: I live in Oslo, user: I like jazz 13 14 00"


@pytest.fixture
def run(tmp_path, capsys):
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers(required=True).add_parser("memory"))

    def typed(command, *rest, user="ann", settings="everything"):
        parts = ["--user", user, "--root", str(tmp_path / "root"), "--encoder", "hash-64"]
        parts += ["--settings", settings]
        arguments = parser.parse_args(["memory", command, *parts, *rest])
        assert arguments.action(arguments) == 0
        out = capsys.readouterr().out
        return json.loads(out) if "--json" in rest else out

    return typed


@pytest.fixture
def filled(run, tmp_path):
    path = tmp_path / "said.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in LINES) + "\n\n")
    assert run("add", str(path), "--json") == [{"stored": 4, "duplicates": 0, "refused": 0}]
    return run


def test_messages_come_in_are_found_and_seen(filled):
    found = filled("search", "where in Oslo", "--now", NOW, "--json")
    assert (found["step"], found["says"]) == ("dense", "")
    assert found["hits"][0]["id"] == "m1"
    shown = filled("search", "jazz", "--now", NOW, "--read", "--timezone", "Europe/Oslo")
    assert "2023-05-08T15:57:00+02:00" in shown
    assert "\x1b" not in shown
    assert "nothing certain; nearest: " in filled("search", "zebra", "--now", NOW)
    assert "Monday 2023-05-08\n- user: I live in Oslo [m1]" in filled("context", "Oslo")
    messages = filled("list", "messages", "--json")
    assert [m["message_id"] for m in messages] == ["m1", "m2", "m3", "m4"]
    assert messages[0]["at"] == "2023-05-08T13:56:00+00:00"
    assert messages[1]["text"] == LINES[1]["text"]
    segments = filled("list", "segments", "--json")
    assert [segment["tier"] for segment in segments] == ["warm"] * 4
    counts = {row["counter"]: row["count"] for row in filled("metrics", "--json")}
    assert counts["stored"] == 4


def test_a_text_is_added_facts_change_and_are_forgotten(run):
    run("add", "--text", "I live in Bergen")
    with pytest.raises(MemreproError, match="has no memory of 'anm': it has those of ann"):
        run("search", "home", user="anm")
    run("add", "--text", "I moved to Oslo")
    assert [fact["text"] for fact in run("facts", "--json")] == ["I moved to Oslo"]
    history = run("facts", "--history", "I moved to Oslo", "--json")
    assert [change["operation"] for change in history] == ["add", "update"]
    assert run("users", "--json") == [{"user": "ann"}]
    assert {row["settings"] for row in run("settings", "--json")} == {"everything", "as printed"}
    assert "Oslo" in run("forget", "moved to Oslo", "--dry-run")
    run("forget", "moved to Oslo")
    assert "Oslo" not in run("list", "messages")
    with pytest.raises(MemreproError, match="name a file, or give --text"):
        run("add")


def test_a_model_behind_an_endpoint_makes_the_facts_and_keeps_no_record(run, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    towns = {"Bergen": "J'habite à Bergen", "Oslo": "Maintenant je vis à Oslo"}

    def reply(messages):
        asked = json.loads(messages[-1]["content"])
        if "new" in asked:
            assert [known["text"] for known in asked["known"]] == ["The user lives in Bergen."]
            return json.dumps({"operation": "update", "fact": 1})
        return json.dumps({"facts": [
            {"text": f"The user lives in {town}.", "category": "fact", "confidence": 1.0,
             "quote": said}
            for town, said in towns.items() if said in asked["conversation"]
        ]})  # fmt: skip

    entry = tmp_path / "local.yaml"
    with serving(Content(reply=reply)) as server:
        endpoint = {"url": server.url, "tries": 1}
        entry.write_text(json.dumps({"model": "local", "revision": "1", "endpoint": endpoint}))
        for said in towns.values():
            run("add", "--text", said, "--model", str(entry))
    assert [fact["text"] for fact in run("facts", "--json")] == ["The user lives in Oslo."]
    history = run("facts", "--history", "The user lives in Oslo.", "--json")
    assert [change["operation"] for change in history] == ["add", "update"]
    # The endpoint is gone: what is said is kept, and its facts are made later.
    run("add", "--text", "I like jazz", "--model", str(entry))
    counts = {row["counter"]: row["count"] for row in run("metrics", "--json")}
    assert (counts["stored"], counts["facts_failed"]) == (3, 1)
    assert "I like jazz" in run("facts")
    run("forget", towns["Bergen"])
    assert b"Bergen" not in all_bytes(tmp_path / "root")


def test_a_person_is_in_control(filled, tmp_path):
    filled("maintain", "--now", "2023-06-01")
    facts = filled("list", "facts", "--json")
    oslo = next(fact for fact in facts if "Oslo" in fact["text"])
    before = filled("list", "facts")
    for now in ("1717200000000", "1e300", "inf", "nan", "0001-01-01", "9999-12-31T23:59:59-14:00"):
        for command in (("edit", "--fact", oslo["fact_id"], "no"), ("maintain",), ("search", "a")):
            with pytest.raises(MemreproError, match="is not in the years 1900 to 2099"):
                filled(*command, "--now", now)
    assert filled("list", "facts") == before
    filled("edit", "--fact", oslo["fact_id"], "I live in Rome")
    assert "I live in Rome" in filled("list", "facts")
    filled("delete", "--fact", oslo["fact_id"])
    assert "Rome" not in filled("list", "facts")
    filled("edit", "--message", "m3", "a cat called Miso", "--now", "2023-06-01")
    filled("export", str(tmp_path / "out.json"))
    assert filled("import", str(tmp_path / "out.json"), "--json", user="bob") == [
        {"imported": "4 messages", "from": "memrepro"}
    ]
    assert "Miso" in filled("list", "messages", user="bob")
    filled("pause")
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({**LINES[0], "message_id": "m9", "text": "more"}))
    with pytest.raises(MemreproError, match="'ann' is paused: resume it to add"):
        filled("add", str(more))
    filled("resume")
    assert filled("add", str(more), "--json")[0]["stored"] == 1
    filled("delete", "--message", "m9", "--message", "m2")
    between = filled("delete", "--between", "2023-05-08", "2023-05-09", "--json")
    assert between == [{"deleted": "2 messages"}]
    assert [m["message_id"] for m in filled("list", "messages", "--json")] == ["m4"]
    filled("delete", "--everything")
    assert not user_folder(tmp_path / "root", "ann").exists()
    with pytest.raises(MemreproError, match="no memory of 'ann'"):
        filled("delete", "--everything")
    with pytest.raises(MemreproError, match="no memory of 'ann'"):
        filled("list", "facts")
    assert user_folder(tmp_path / "root", "bob").exists()


def test_a_file_that_is_not_taken_in_is_never_told_as_done(filled, tmp_path):
    path = str(tmp_path / "said.jsonl")
    with pytest.raises(MemreproError, match="two things to add"):
        filled("add", path, "--text", "I like tea")
    with pytest.raises(MemreproError, match="'Mars/Olympus': it must be an IANA name"):
        filled("add", path, "--timezone", "Mars/Olympus")
    assert "tea" not in filled("list", "messages")


def test_an_import_says_how_many_came_in_and_which_one_cannot(run, tmp_path):
    path = tmp_path / "chat.jsonl"
    lines = [{"text": "I like tea", "at": "2024-05-03"}, {"text": "I like jazz", "at": "3.5.2024"}]
    path.write_text("\n\n".join(map(json.dumps, lines)))
    with pytest.raises(MemreproError, match=r"chat\.jsonl:3:.* '3\.5\.2024' is no time"):
        run("import", str(path))
    path.write_text(json.dumps(lines[0]))
    imported = [run("import", str(path), "--json")[0]["imported"] for _ in range(2)]
    assert imported == ["1 messages", "0 messages"]


def test_a_root_is_enough_where_there_is_no_home(tmp_path, monkeypatch, capsys):
    """As in a container whose user has a number and no name."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    whose = ["--user", "ann", "--encoder", "hash-64"]
    assert main(["memory", "add", "--text", "tea", *whose, "--root", str(tmp_path)]) == 0
    with pytest.raises(SystemExit):
        main(["memory", "search", "tea", *whose])
    assert "there is no home here, name a folder" in capsys.readouterr().err


def test_a_root_where_nothing_can_be_made_is_an_error_and_no_endless_wait():
    # Linux says that /proc/x is missing, whoever makes it; elsewhere there is no /proc to make.
    with pytest.raises(MemreproError, match="name a folder that can be written"):
        lock(Path("/proc/x"), "ann")


def test_a_mistyped_user_or_a_refused_first_file_leaves_nothing(run, tmp_path):
    run("add", "--text", "I live in Bergen")
    before, wrong = all_bytes(tmp_path / "root"), tmp_path / "wrong.json"
    out = str(tmp_path / "out.json")
    for typed in (
        ("search", "a"), ("context", "a"), ("facts",), ("forget", "a"), ("list", "messages"),
        ("delete", "--message", "m"), ("delete", "--everything"), ("edit", "--message", "m", "a"),
        ("pause",), ("resume",), ("export", out), ("maintain",), ("metrics",),
    ):  # fmt: skip
        with pytest.raises(MemreproError, match="no memory of 'anm'"):
            run(*typed, user="anm")
    for content in (
        {"made_by": {}, "format": "of tomorrow"},
        [{"content": "a", "at": "noon"}],
        [{"content": " "}],
        [],
    ):
        wrong.write_text(json.dumps(content))
        with pytest.raises(MemreproError, match=r"wrong\.json"):
            run("import", str(wrong), user="anm")
    with pytest.raises(MemreproError, match="text is empty"):
        run("add", "--text", " ", user="anm")
    assert all_bytes(tmp_path / "root") == before
    assert run("users", "--json") == [{"user": "ann"}]
    assert len(list((tmp_path / "root").iterdir())) == 1


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ('{"message_id": "m"', "line 1 of .* is no JSON"),
        ('\n{"message_id": "m", "speaker": "u", "at": 1}', "line 2 of .* must have message_id"),
        ('{"message_id": "m", "speaker": "u", "at": 1, "text": "a", "x": 1}', "nothing else"),
        ('{"message_id": "m", "speaker": "u", "at": true, "text": "a"}', "True is no time"),
        ('{"message_id": "m", "speaker": "u", "at": 1e999, "text": "a"}', "line 1 of .* the years"),
    ],
)
def test_a_line_that_is_no_message_is_named(tmp_path, lines, error):
    path = tmp_path / "said.jsonl"
    path.write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    with pytest.raises(MemreproError, match=error):
        read_messages(path)
    with pytest.raises(MemreproError, match="is missing: name a file that is there"):
        read_messages(tmp_path / "none")
    (tmp_path / "bom.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(LINES[0]).encode() + b"\r\n")
    assert read_messages(tmp_path / "bom.jsonl")[0].message_id == LINES[0]["message_id"]
