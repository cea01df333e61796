"""What people hand over: runs, chats, tables, times; and what a terminal or a spreadsheet shows."""

import csv
import gzip
import json
import math
import resource
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import yaml

from memrepro.audit.__main__ import parser, run
from memrepro.audit.check import audit_file
from memrepro.audit.read.files import tables_of
from memrepro.data import longmemeval
from memrepro.files.atomic import read_table, read_yaml, write_table
from memrepro.files.given import numbered_json_lines
from memrepro.memory import control
from memrepro.memory.actions import read_messages
from memrepro.memory.exchange.importers import form_of, read_chats
from memrepro.memory.memory import TieredMemory
from memrepro.outside.qrels import read_qrels
from memrepro.outside.runs import Docs, questions_of, read_against
from memrepro.pipeline.printing import plain_output, print_table
from memrepro.provenance import attest
from memrepro.read.labels import read_labels
from memrepro.read.shipping import import_hypotheses
from tests.audit.test_bounds import GREEDY, PIPES
from tests.data.gathered import gather
from tests.memory.store_made import OLD, START, chat, opened
from tests.outside.test_score import as_parquet, as_rows, as_table, as_trec
from tests.test_hostile import TERMINAL, plain
from tests.torture.campaign import REFUSED, refusal, tried
from tests.torture.mutated import ODD, TREC, bytes_of, value_of

WORDS = (
    "tea",
    "Łódź",
    "naïve",
    "東京",
    "a\u2028b",
    "c\x85d",
    "e\x0cf",
    "g\u00a0h",
    "i\x1cj",
    "k,l;m",
)
SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦")
BEFORE = ("", "", " ", "\t", "\r", "\n", "\u00a0", "\ufeff", "\u200b", "\0", "'")
RUN_BY = (
    "{n}+{n}", "SUM(A{n}:B{n})", "cmd|'/C calc'!A{n}", "HYPERLINK(\"https://example.com/{n}\")",
    "A{n}", "{n}*A{n}", "{n}%", "[Book]Sheet!A{n}", "{n}/{n}", "-{n}", "{n}^2", "({n})+1",
)  # fmt: skip
TIMES: tuple[Any, ...] = (
    1_717_200_000_000, 1.7e12, -1.7e12, 1e300, -1e300, math.inf, -math.inf, math.nan, 10**400,
    -2_208_988_801, 4_102_444_801, 1_683_504_000, 1_700_000_000.5, True, None, "soon", "",
)  # fmt: skip


def _rows(path: Path) -> Any:
    return [table.rows for table in tables_of(path).tables]


def _chats(path: Path) -> Any:
    return list(read_chats(path, form_of(path)))


BY_NAME = (_rows, _chats)  # what these give depends on the file's whole name


def _same(folder: Path, chance: Random, read: Callable[[Path], Any], name: str, text: str) -> None:
    """A file as another program would save it reads as the plain one."""
    (folder / "plain").mkdir()
    (folder / "plain" / name).write_bytes(text.encode())
    if chance.random() < 0.5:
        text = text.replace("\n", chance.choice(("\r\n", "\r", "\n")))
    data = text.encode(chance.choice(("utf-8", "utf-8-sig", "utf-16")))
    if chance.random() < 0.3:
        data = gzip.compress(data, mtime=0)
        name += chance.choice(("", ".gz" * (read not in BY_NAME)))
    (folder / name).write_bytes(data)
    wanted = read(folder / "plain" / name.removesuffix(".gz"))
    assert (found := read(folder / name)) == wanted, (found, wanted)


def doubled(folder: Path, chance: Random) -> str:
    """Lines that stand twice, and ranks that are none, move no other doc."""
    names = [f"d{n}" for n in range(30)]
    lists = {
        f"q{n}": chance.sample(names, chance.randint(2, 12)) for n in range(chance.randint(1, 9))
    }
    rows = [(q, d, n, 1 / n) for q, docs in lists.items() for n, d in enumerate(docs, 1)]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"])
    write, name = chance.choice([
        (as_trec, "a.run"), (as_rows, "a.jsonl"), (as_parquet, "a.parquet"), (as_table, "a.csv"),
    ])  # fmt: skip
    odd, falls = "", write in (as_trec, as_rows) and chance.random() < 0.4
    if falls:  # distances, which trec_eval would sort by
        frame["score"] = -frame["score"]
    elif write is as_rows and chance.random() < 0.6:
        frame = frame.drop(columns="score").astype({"rank": object})
        odd = chance.choice(list(lists))  # its first doc has no rank, and stands last
        frame.loc[frame["query_id"] == odd, "rank"] = [
            chance.choice((None, math.nan, -1, -7)),
            *range(2, len(lists[odd]) + 1),
        ]
        lists[odd] = [*lists[odd][1:], lists[odd][0]]
    again = frame.sample(chance.randint(1, 5), replace=True, random_state=chance.randrange(99))
    write(pd.concat([frame, frame.tail(1), again], ignore_index=True), folder / name)
    read = read_against(folder / name, Docs(dict.fromkeys(lists, ""), {}, ()), "toy", "session")
    assert read.frame.groupby("query_id")["doc_id"].agg(list).to_dict() == lists
    assert {"doc named twice"} <= set(read.problems)
    assert bool(odd) == ("rank that is none" in read.problems)
    assert falls == ("rank and score disagree" in read.problems)
    return f"{write.__name__[3:]}{', a rank missing' * bool(odd)}{', distances' * falls}"


def written(folder: Path, chance: Random) -> str:
    """What people give reads the same, whatever program wrote it."""
    ids = [f"q{n}{chance.choice(WORDS)}" for n in range(chance.randint(1, 5))]
    safe = [one.replace(",", "").replace(";", "") for one in ids]
    kind = chance.choice(("run", "trec", "scores", "qrels", "grades", "answers", "labels",
                          "messages", "chats", "table"))  # fmt: skip

    def lines(rows: list[dict[str, Any]]) -> str:
        return "\n".join(json.dumps(row, ensure_ascii=chance.random() < 0.3) for row in rows) + "\n"

    def as_list(path: Path) -> Any:
        return questions_of(path), [tuple(map(str, one)) for one in runs(path)]

    from memrepro.outside.forms import run_rows as runs

    if kind == "run":
        rows = [{"query_id": q, "doc_id": f"d{q}", "rank": 1} for q in ids]
        _same(folder, chance, as_list, "a.jsonl", lines(rows))
    elif kind == "trec":
        text = "".join(f"{q} Q0 d{q} 1 0.5 tag\n" for q in ids if " " not in q)
        _same(folder, chance, as_list, "a.run", text)
    elif kind == "scores":
        _same(folder, chance, as_list, "a.json", json.dumps({q: {f"d{q}": 0.5} for q in ids}))
    elif kind == "qrels":
        rows = [{"query_id": q, "relevant": [f"d{q}"]} for q in ids]
        _same(folder, chance, read_qrels, "a.jsonl", lines(rows))
    elif kind == "grades":
        part = chance.choice((",", ";", "\t"))
        head = part.join(("query-id", "corpus-id", "score")) + "\n"
        text = head + "".join(part.join((q, f"d{q}", "2")) + "\n" for q in safe)
        _same(folder, chance, read_qrels, "a.csv", text)
        assert len(read_qrels(folder / "plain/a.csv")[0]) == len(set(safe))
    elif kind == "answers":
        rows = [{"question_id": q, "hypothesis": f"yes {q}"} for q in ids]
        _same(folder, chance, lambda at: import_hypotheses(at, ids), "a.jsonl", lines(rows))
    elif kind == "labels":
        part = chance.choice((",", ";", "\t"))
        text = f"question_id{part}label\n" + "".join(f"{q}{part}yes\n" for q in safe)
        known = dict.fromkeys(safe, True)
        _same(folder, chance, lambda at: read_labels(at, known), "a.csv", text)
        assert len(read_labels(folder / "plain/a.csv", known).right) == len(set(safe))
    elif kind == "messages":
        rows = [
            {"message_id": q, "speaker": "user", "at": 1.7e9, "text": f"I like {q}"} for q in ids
        ]
        _same(folder, chance, read_messages, "a.jsonl", lines(rows))
    elif kind == "chats":
        rows = [{"content": f"I like {q}", "at": "2023-05-08"} for q in ids]
        _same(folder, chance, _chats, "a.jsonl", lines(rows))
    else:
        cells = "".join(f"| {q.split()[0]} | 0.{n}1 |\n" for n, q in enumerate(safe))
        _same(folder, chance, _rows, "a.md", PIPES + cells)
    return kind


def latin(folder: Path, chance: Random) -> str:
    """What is not in UTF-8 is named with its line, and how it becomes so."""
    at = chance.randint(1, 9)
    path = folder / "a.jsonl"
    path.write_bytes(
        b"".join(b'{"query_id": "caf\xe9"}\n' if n == at else b"{}\n" for n in range(1, 12))
    )
    for read in (read_qrels, questions_of, read_messages, numbered_json_lines):
        case = tried("", lambda read=read: read(path))
        assert (case.outcome, case.broken) == (REFUSED, ""), case
    assert f"in line {at}: save it as UTF-8" in refusal(lambda: numbered_json_lines(path))
    return "named"


def turns(folder: Path, chance: Random) -> str:
    """A chat's odd turn costs that turn; its question stays, at its day's end if asked."""
    day = f"2023/05/{chance.randint(10, 28)}"
    minute = f"{chance.randrange(24):02d}:{chance.randrange(60):02d}"
    usual = [[{"role": role, "content": f"{role} {s} {n}", "has_answer": s == n == 0}
              for n in range(chance.randint(1, 3)) for role in ("user", "assistant")]
             for s in range(chance.randint(1, 4))]  # fmt: skip
    names = [f"answer_{n}" for n in range(len(usual))]
    iso = chance.random() < 0.5
    dates = [f"{day.replace('/', '-')}T{minute}" if iso else f"{day} (Mon) {minute}" for _ in usual]
    one = {
        "question_id": "q", "question_type": "multi-session", "question": "How?", "answer": "2",
        "question_date": dates[0], "answer_session_ids": names[:1], "haystack_dates": dates,
        "haystack_session_ids": names, "haystack_sessions": usual,
    }  # fmt: skip
    odd = ({"role": "system", "content": "x"}, {"role": "tool", "content": "{}"}, "hi", None, 3,
           {"role": "user", "content": None}, {"role": "user"}, {"content": "x"}, [],
           {"role": "user", "content": [{"type": "text", "text": "x"}]})  # fmt: skip
    mixed = json.loads(json.dumps(one))
    added = chance.randint(1, 5)
    for _ in range(added):
        session = chance.choice(mixed["haystack_sessions"])
        session.insert(chance.randint(0, len(session)), chance.choice(odd))
    asked = chance.choice(("as_dated", "day_end"))

    def said(found: Any) -> Any:
        (memory,) = found.memories.values()
        return [[t.text for r in s.rounds for t in r.turns] for s in memory.sessions], memory.times

    plain_one, with_odd = (
        gather(longmemeval.pieces_of([each], "toy", asked=asked)) for each in (one, mixed)
    )
    assert said(plain_one) == said(with_odd)
    assert with_odd.queries == plain_one.queries
    assert len(with_odd.skipped) == len(plain_one.skipped) + added
    at = with_odd.queries[0].at
    day = day.replace("/", "-")
    assert at == (f"{day}T{minute}" if asked == "as_dated" else f"{day}T23:59"), at
    (folder / "a.json").write_text(json.dumps([mixed]))
    chats = read_chats(folder / "a.json", form_of(folder / "a.json"))
    assert [c["content"] for c in chats] == [t["content"] for session in usual for t in session]
    return asked


def nothing_is_deleted(folder: Path, chance: Random) -> str:
    """What is said against a file of one's own never tells to delete it, and leaves it."""
    read, name, text = chance.choice([
        (numbered_json_lines, "a.jsonl", b'{"a": 1}\n' * 5), (questions_of, "a.run", TREC.encode()),
        (read_qrels, "a.txt", b"q1 0 a 1\n" * 3), (read_yaml, "a.yaml", b"a: [1, {b: c}]\n"),
        (_chats, "a.json", json.dumps([{"mapping": {}}]).encode()),
        (attest.read, "a.json", b'{"git": {}}'), (read_table, "a.csv", b"a,b\n1,2\n"),
        (tables_of, "a.tex", b"\\begin{tabular}{ll} M & A \\\\ x & 0.5 \\\\ \\end{tabular}"),
        (lambda at: import_hypotheses(at, ["q"]), "a.jsonl", b'{"question_id": "q"}\n'),
    ])  # fmt: skip
    for _ in range(3):
        text = bytes_of(text, chance)
    (folder / name).write_bytes(text)
    case = tried("", lambda: read(folder / name))
    assert not case.broken, case
    advice = refusal(lambda: read(folder / name)).rpartition(str(folder))[2].lower()
    assert "delete" not in advice
    assert "remove" not in advice
    assert (folder / name).read_bytes() == text
    return case.outcome


def formulas(folder: Path, chance: Random) -> str:
    """A csv's cell is text to a spreadsheet, in words that are formulas by how they are made."""

    def number() -> str:
        return str(chance.randrange(1, 999))

    run_by = [
        chance.choice(BEFORE)
        + chance.choice(SIGNS)
        + chance.choice(RUN_BY).replace("{n}", number())
        for _ in range(20)
    ]
    words = [chance.choice(("−", "", "a", "#")) + number() for _ in range(9)]
    words += [
        f"{chance.choice('+-')}{number()}",
        f"-{number()}.5",
        f"+0.{number()} [-0.1, +0.2]",
        "-",
    ]
    frame = pd.DataFrame({"a": run_by + words})
    write_table(folder / "a.csv", frame)
    with (folder / "a.csv").open(newline="", encoding="utf-8") as file:
        found = [row[0] for row in csv.reader(file)][1:]
    assert found == [f"'{text}" for text in run_by] + words
    assert read_table(folder / "a.csv")["a"].tolist() == run_by + words
    return "text"


def greedy(folder: Path, chance: Random) -> str:
    """A small file that asks for much is listed, soon and without much memory; the rest goes on."""
    kind = chance.choice(list(GREEDY))
    suffix, text, _ = GREEDY[kind]
    for many in ("100000000", "99999999"):
        text = text.replace(many, str(10 ** chance.randint(4, 18) - chance.randint(0, 9)))
    (folder / f"a{suffix}").write_text(text)
    (folder / "b.md").write_text(PIPES + "| x | 0.5 |\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    read = tables_of(folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (len(read.tables), len(read.unread)) == (1, 1), read.summary
    assert after.ru_utime - before.ru_utime < 5
    assert len(read.unread[0].why) < 400
    return kind


def wrong_types(folder: Path, chance: Random) -> str:
    """A value of another type is taken or refused in one sentence."""
    table = {
        "columns": ["a", "b"], "rows": {"x": ["0.5", "0.4"], "y": ["0.1", "0.2"]}, "n": {"a": 10},
        "runs": {"x": 3}, "total": 40, "whole": {"b": ["a"]}, "bold": {"a": ["x"]}, "metric": "F1",
        "names": {"x": "y"}, "formulas": {"b": ["a + a"]}, "stars": {"x": {"a": 1}}, "note": "a",
    }  # fmt: skip
    form = chance.choice(("audit", "parquet", "qrels", "attestation", "k"))
    if form == "audit":
        odd = [value for value in ODD if isinstance(value, str | int | float | list | dict | None)]
        made = {**table, chance.choice(list(table)): chance.choice([*odd, 10, 5, [["a"]]])}
        made = made if chance.random() < 0.5 else value_of(table, chance)
        path = folder / "a.yaml"
        try:
            path.write_text(yaml.safe_dump({"t": made}, allow_unicode=True), encoding="utf-8")
        except UnicodeEncodeError:  # half a pair stands in no file
            return "not written"
        case = tried("", lambda: audit_file(path).failing("weak"))
    elif form == "parquet":
        values = (
            [None],
            [1.5],
            [math.nan],
            [b"\xff"],
            [["x"]],
            [10**18],
            [True],
            ["x"],
            [{"a": 1}],
        )
        columns = {name: chance.choice(values) for name in ("query_id", "doc_id", "rank", "score")}
        columns.pop(chance.choice(list(columns)))
        pd.DataFrame(columns).to_parquet(folder / "a.parquet")
        case = tried("", lambda: questions_of(folder / "a.parquet"))
    elif form == "qrels":
        (folder / "a.json").write_text(json.dumps(value_of({"q": {"a": 1, "b": 0}}, chance)))
        case = tried("", lambda: read_qrels(folder / "a.json"))
    elif form == "attestation":
        whole = {
            "environment": {"packages": {}}, "git": {}, "verdicts": {"sample": {"p": {"e": 1}}},
            "digests": {"sample": {"a.csv": {"bytes": "0"}}},
        }  # fmt: skip
        (folder / "a.json").write_text(json.dumps(value_of(whole, chance)))
        case = tried("", lambda: attest.agree(attest.read(folder / "a.json"), whole))
    else:
        rank = "9" * chance.choice((20, 400, 4_000))
        (folder / "a.jsonl").write_text(f'{{"query_id": "q", "doc_id": "\\ud800", "rank": {rank}}}')
        case = tried("", lambda: questions_of(folder / "a.jsonl"))
    assert not case.broken, case
    return f"{form}: {case.outcome}"


def _added(memory: TieredMemory, path: Path) -> None:
    memory.add(read_messages(path))


def times(folder: Path, chance: Random) -> str:
    """Whatever time enters a memory, by whatever way, it stays whole and can be listed."""
    given = chance.choice(TIMES)
    with opened(folder / "one") as memory:
        memory.add(chat(5, text="I like fruit{i}"))
        memory.maintain(OLD)
        control.export(memory, folder / "it.json")
        fact = control.facts(memory)[0].fact_id
        way = chance.choice(("message", "edit", "maintain", "search", "import"))
        use: Callable[[], object]
        if way == "message":
            row = {"message_id": "new", "speaker": "user", "at": given, "text": "I like it"}
            (folder / "a.jsonl").write_text(json.dumps(row))
            use = partial(_added, memory, folder / "a.jsonl")
        elif way == "edit":
            use = partial(control.edit_fact, memory, fact, "I live in Oslo", given)
        elif way == "maintain":
            use = partial(memory.maintain, given)
        elif way == "search":
            use = partial(memory.search, "fruit1", given)
        else:
            content = json.loads((folder / "it.json").read_text())
            rows = chance.choice([table for table in content["tables"].values() if table])
            name = [key for key in rows[0] if key in ("at", "begin", "end") or key.endswith("_at")]
            if name:
                chance.choice(rows)[chance.choice(name)] = given
            (folder / "it.json").write_text(json.dumps(content))
            other = opened(folder / "two")
            use = partial(control.import_, other, folder / "it.json")
        case = tried("", use)
        assert not case.broken, (way, given, case)
        if way == "import":
            memory.close()
            memory = other
        for listed in (control.facts(memory), control.messages(memory), control.segments(memory)):
            assert all(one is not None for one in listed)
        found = [one.at for one in control.messages(memory)]
        assert all(-2_208_988_800 <= at < 4_102_444_800 for at in found)
        assert control.export(memory, folder / "out.json") is None
        json.loads((folder / "out.json").read_text(), parse_constant=int)  # no NaN, no Infinity
        memory.search("fruit1", START + 1)
        memory.close()
    return f"{way}: {case.outcome}"


def terminal(folder: Path, chance: Random) -> str:
    """What stands in a file or is its name changes no terminal, and fills none."""
    odd = chance.choice(TERMINAL) + chance.choice(("", "x" * 1_000_000))
    form = chance.choice(("caption", "row", "file", "table"))
    shown, told = StringIO(), StringIO()
    with redirect_stdout(shown), redirect_stderr(told), plain_output():
        if form == "table":
            print_table(pd.DataFrame({"id": [odd[:99]], "n": [1]}))
        else:
            plain_odd = odd[:60].replace("/", "").replace("\0", "") if form == "file" else ""
            name = f"a{plain_odd}.md"
            row = odd if form == "row" else "x"
            caption = odd if form == "caption" else "Table 1"
            cells = " ".join(row.split()).replace("|", "")
            (folder / name).write_text(f"{caption}\n\n{PIPES}| {cells} | 0.5 |\n| y | 1.7 |\n")
            run(parser().parse_args([str(folder / name), "--level", "weak"]))
    text = shown.getvalue() + told.getvalue()
    assert plain(text), ascii(text)[:200]
    assert len(text) < 20_000, len(text)
    return form


POINTS: dict[str, Callable[[Path, Random], str]] = {
    "1 lines that stand twice, ranks that are none": doubled,
    "2 files of other programs": written,
    "2 files in another encoding": latin,
    "3 chats with odd turns": turns,
    "4 files of one's own": nothing_is_deleted,
    "12 times": times,
    "14 formulas": formulas,
    "15 files that ask for much": greedy,
    "16 values of other types": wrong_types,
    "19 terminals": terminal,
}
