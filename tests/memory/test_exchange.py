"""Chats of other programs come in, wrong files are refused by name, and an agent is served."""

import asyncio
import json
import sys
import zipfile

import pytest

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.memory.exchange.importers import form_of, read_chats
from memrepro.memory.user_memory import Memory

CHATGPT = [{
    "title": "Trip", "create_time": 1683554160.0, "current_node": "c",
    "mapping": {
        "r": {"message": None, "parent": None},
        "a": {"parent": "r", "message": {"id": "a", "author": {"role": "user"},
              "create_time": 1683554161.0, "content": {"parts": ["I fly to Oslo"]}}},
        # What was spoken, and a branch that was left.
        "x": {"parent": "a", "message": {"id": "x", "author": {"role": "assistant"},
              "create_time": 1683554162.0, "content": {"parts": ["Wrong."]}}},
        "c": {"parent": "a", "message": {"id": "c", "author": {"role": "assistant"},
              "create_time": None, "content": {"parts": [
                  {"content_type": "audio_transcription", "text": "Enjoy!"}, {"image": 1}]}}},
    },
}]  # fmt: skip
CLAUDE = [{
    "uuid": "t", "name": "Trip", "chat_messages": [
        {"uuid": "a", "sender": "human", "created_at": "2023-05-08T13:56:01Z",
         "text": "I fly to Oslo"},
        {"uuid": "c", "sender": "assistant", "created_at": "2023-05-08T13:56:02Z", "text": "",
         "content": [{"type": "text", "text": "Enjoy!"}, {"type": "tool_use", "name": "x"}]},
    ],
}]  # fmt: skip
LOCOMO = [{
    "sample_id": "c1", "qa": [], "conversation": {
        "speaker_a": "Ann", "speaker_b": "Bo", "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I fly to Oslo"},
                      {"speaker": "Bo", "dia_id": "D1:2", "text": "Enjoy!",
                       "blip_caption": "a fjord"}],
    },
}]  # fmt: skip
LONGMEMEVAL = [{
    "question_id": "q", "haystack_session_ids": ["s"], "haystack_dates": ["2023/05/08 (Mon) 13:56"],
    "haystack_sessions": [[{"role": "user", "content": "I fly to Oslo"},
                           {"role": "assistant", "content": "Enjoy!"}]],
}]  # fmt: skip
FORMS = {"chatgpt": CHATGPT, "claude": CLAUDE, "locomo": LOCOMO, "longmemeval": LONGMEMEVAL}


def opened(root):
    return Memory(root / "mem", encoder=HashEncoder(64))


@pytest.mark.parametrize("form", [*FORMS, "jsonl", "zip"])
def test_chats_come_in_once_and_are_found(tmp_path, form):
    path = tmp_path / "chats"
    if form == "jsonl":
        path.write_text('{"content": "I fly to Oslo", "at": "2023-05-08"}\n\n{"text": "Enjoy!"}\n')
    elif form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("conversations.json", json.dumps(CHATGPT))
    else:
        path.write_text(json.dumps(FORMS[form]))
    assert form_of(path) == ("chatgpt" if form == "zip" else form)
    chats = read_chats(path, form_of(path))
    assert [chat.get("content", chat.get("text")).split("\n")[0] for chat in chats] == [
        "I fly to Oslo", "Enjoy!"
    ]  # fmt: skip
    with opened(tmp_path) as memory:
        memory.add(chats)
        memory.add(read_chats(path, form_of(path)))
        assert len(memory.messages()) == 2
        (hit,) = memory.search("who flies to Oslo", 1, now="2023-06-01")
        assert hit.text == "I fly to Oslo"
        assert hit.at.date().isoformat() == "2023-05-08"


def test_a_chat_without_a_message_or_a_time_costs_no_other(tmp_path):
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"title": "", "create_time": 1.0, "mapping": {}}, *CHATGPT]))
    said, answered = read_chats(path, "chatgpt")
    # Not the chat's, by which an answer would stand before what it answers.
    assert (said["id"], answered["id"], answered["at"]) == ("a", "c", said["at"])


@pytest.mark.parametrize(
    "date", ["2023-05-08T13:56", "2023-05-08 13:56:00", "2023-05-08T15:56+02:00"]
)
def test_a_turn_of_another_form_costs_no_other(tmp_path, date):
    odd = [
        {"role": "system", "content": "be kind"}, {"role": "tool", "content": "{}"}, "hi", None,
        {"role": "user", "content": None}, {"role": "user"}, {"content": "who?"},
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}]},
    ]  # fmt: skip
    usual = LONGMEMEVAL[0]["haystack_sessions"][0]
    for sessions in ([*usual, *odd], [usual[0], *odd, usual[1]]):
        other = {**LONGMEMEVAL[0], "haystack_dates": [date], "haystack_sessions": [sessions]}
        for name, content in (("usual", LONGMEMEVAL), ("other", [other])):
            (tmp_path / name).write_text(json.dumps(content))
        found = [
            [(one["role"], one["content"]) for one in read_chats(tmp_path / name, "longmemeval")]
            for name in ("usual", "other")
        ]
        assert found[0] == found[1]
        first = [read_chats(tmp_path / name, "longmemeval")[0]["at"] for name in ("usual", "other")]
        assert first[0] == first[1]


def test_a_wrong_file_is_refused_by_item_and_rule_and_stays(tmp_path):
    path = tmp_path / "chats"
    wrong = {
        "chatgpt": ([{"mapping": {"a": {"parent": "a"}}, "current_node": "a"}], "chat 1 .* circle"),
        "claude": ([{"chat_messages": []}, {"chat_messages": [{"text": "a"}]}], "chat 2 .*sender"),
        "locomo": ([{"sample_id": "c", "conversation": {"session_1": []}}], "session_1_date_time"),
        "longmemeval": ([{**LONGMEMEVAL[0], "haystack_dates": []}], "chat 1 of .*longmemeval"),
        "jsonl": ("[1, 2]\n3", "line 1 of .* with a text `content`"),
    }
    for form, (content, rule) in wrong.items():
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(MemreproError, match=rule) as refused:
            read_chats(path, form)
        assert "nothing was taken in" in str(refused.value)
        assert "delete" not in str(refused.value)
    path.write_text('{"other": 1}')
    with pytest.raises(MemreproError, match="no form that is known"):
        form_of(path)
    with opened(tmp_path) as memory:
        with pytest.raises(MemreproError) as refused:
            memory.import_(path)
        assert "delete" not in str(refused.value)
        (path.parent / "cut.json").write_text('{"format": ')
        with pytest.raises(MemreproError) as refused:
            memory.import_(path.parent / "cut.json")
        assert "delete" not in str(refused.value)
        assert memory.messages() == []


def test_files_of_one_name_come_in_and_one_that_grew_again(tmp_path):
    """As of a folder a year: of a line without an id and a time only its place and words say."""
    with opened(tmp_path) as memory:
        for year, lines in [("2024", ["tea"]), ("2025", ["coffee"]), ("2025", ["coffee", "cocoa"])]:
            (tmp_path / year).mkdir(exist_ok=True)
            path = tmp_path / year / "notes.jsonl"
            path.write_text("\n".join(json.dumps({"text": line}) for line in lines))
            memory.add(read_chats(path, "jsonl"))
        assert [one.text for one in memory.messages()] == ["tea", "coffee", "cocoa"]


def test_an_agent_remembers_recalls_and_forgets(tmp_path):
    mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    from mcp.client.stdio import StdioServerParameters

    command = ["-m", "memrepro", "memory", "serve", "--mcp", "--user", "ann",
               "--root", str(tmp_path), "--encoder", "hash-64"]  # fmt: skip

    async def talk():
        server = StdioServerParameters(command=sys.executable, args=command, env=_environment())
        async with mcp.Client(server) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}

            async def called(name, **arguments):
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result
                return result.content[0].text

            await called("remember", text="I live in Bergen", at="2024-01-05")
            await called("remember", text="I moved to Oslo", at="2024-06-01")
            recalled = json.loads(await called("recall", query="where do I live?", k=1))
            dated = await called("context", query="Oslo")
            listed = json.loads(await called("list"))
            await called("forget", what="moved to Oslo")
            kept = await called("recall", query="Oslo")
            await called("forget", what="moved to Oslo", confirm=True)
            gone = await called("recall", query="Oslo")
            wrong = await client.call_tool("remember", {"text": "a", "at": "noon"})
            assert "'noon' is no time: write ISO 8601" in wrong.content[0].text
            return names, recalled, dated, listed, kept, gone

    names, recalled, dated, listed, kept, gone = asyncio.run(talk())
    assert names == {"remember", "recall", "context", "forget", "list"}
    assert recalled["hits"][0]["text"] == "I moved to Oslo"
    assert "Saturday 2024-06-01\n- user: I moved to Oslo" in dated
    assert [fact["text"] for fact in listed["facts"]] == ["I moved to Oslo"]
    assert "moved to Oslo" in kept
    assert "moved to Oslo" not in gone


def _environment():
    import os

    return {"PYTHONPATH": os.pathsep.join(sys.path), "HF_HUB_OFFLINE": "1"}
