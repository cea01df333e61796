"""Input that is damaged: accepted with what it has, or refused; and nothing is half written."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from memrepro.audit import documents
from memrepro.audit.check import audit_file
from memrepro.core.prepared import save
from memrepro.data import locomo_answers, read_pieces
from memrepro.data.fetch import mirror_folder
from memrepro.data.personabench import ROOT as PERSONS
from memrepro.data.sample import compile_files
from memrepro.encode.encoder import HashEncoder
from memrepro.files.atomic import root, sha256
from memrepro.llm.model import Answer, Message, Prompt
from memrepro.llm.records import AnswerStore, Record
from memrepro.llm.shipping import export_records, import_records
from memrepro.memory import control
from memrepro.memory.actions import read_messages
from memrepro.memory.memory import TieredMemory
from memrepro.outside.qrels import read_qrels
from memrepro.outside.runs import questions_of
from memrepro.read.labels import read_labels
from memrepro.read.shipping import import_hypotheses
from memrepro.rehearse.contexts import write_contexts
from memrepro.rehearse.haystacks import write_haystacks
from memrepro.rehearse.persons import write_persons
from memrepro.study import params
from tests.audit import test_read as papers
from tests.memory.store_made import SETTINGS, chat
from tests.torture.campaign import ACCEPTED, Case, tried

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 10**400, 1e308, float("nan"), "", " ", "0" * 400, "\ud800",
    "\x1b[31mred\x1b[0m", "\u202egnp.exe", "../../etc/passwd", "=1+1", "a" * 10_000,
    [], {}, [[]], {"a": {"b": []}}, "2023-13-45", "many words of it " * 100, "\u200b\ufeff",
    "<script>alert(1)</script>", "\\input{/etc/passwd}", "q0\nq1", "'" * 200, '"' * 200,
)  # fmt: skip
INSERTED = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b'"',
    b"{[" * 5000,
    b"[" * 99_999,
    b"9" * 5000,
)


TREC = "".join(f"q{n} Q0 d{n % 3} {n % 3 + 1} 0.{9 - n} tag\n" for n in range(9))
SCORES = {f"q{n}": {"a": 0.5, "b": 0.25} for n in range(6)}
# What people give: how it is written, and what reads it.
GIVEN: dict[str, tuple[str, bytes, Callable[[Path], object]]] = {
    "a run of TREC": ("it.run", TREC.encode(), questions_of),
    "a packed run": ("it.run.gz", gzip.compress(TREC.encode(), mtime=0), questions_of),
    "a run of scores": ("it.json", json.dumps(SCORES).encode(), questions_of),
    "a table of a run": ("it.csv", b"qid;docid;rank\n" + b"q1;a;1\nq1;b;2\n" * 3, questions_of),
    "qrels": ("it.json", json.dumps(SCORES).encode(), read_qrels),
    "a typed table": (
        "it.yaml",
        b"t:\n  columns: [a, b]\n  rows: {x: ['0.5', '0.4']}\n  runs: {x: 3}\n  total: 40\n",
        lambda at: audit_file(at).failing("weak"),
    ),
}


def bytes_of(data: bytes, chance: Random) -> bytes:
    """A file with one or two injuries."""
    for _ in range(chance.choice((1, 1, 2))):
        at, size = chance.randrange(len(data) + 1), chance.choice((1, 1, 3, 40, 1000))
        data = chance.choice(
            [
                data[:at],
                data[:at] + data[at + size :],
                data[:at] + chance.randbytes(size) + data[at + size :],
                data[:at] + data[at : at + size] * 2 + data[at + size :],
                data[:at] + chance.choice(INSERTED) + data[at:],
            ]
        )
    return data


def value_of(value: Any, chance: Random) -> Any:
    """A JSON value with another one somewhere in it, or without a part, or with one twice."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        do = chance.random()
        if do < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if do < 0.15:
            return {f"{k}?" if k == key else k: v for k, v in value.items()}
        return {**value, key: value_of(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        again = chance.choice(
            [[], [value[at]] * 2, [value_of(value[at], chance)], [value_of(value[at], chance)]]
        )
        return [*value[:at], *again, *value[at + 1 :]]  # fmt: skip
    return chance.choice(ODD)


def injured(path: Path, chance: Random) -> None:
    """Damage a file: its bytes, or a value of its JSON or of a line of it."""
    data = path.read_bytes()
    if path.suffix in {".json", ".jsonl"} and chance.random() < 0.7:
        if path.suffix == ".json":
            data = json.dumps(value_of(json.loads(data), chance)).encode()
        else:
            lines = data.splitlines()
            at = chance.randrange(len(lines))
            lines[at] = json.dumps(value_of(json.loads(lines[at]), chance)).encode()
            data = b"\n".join(lines)
    else:
        data = bytes_of(data, chance)
    path.write_bytes(data)


def datasets(folder: Path) -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Each loader with valid input in a folder of its name, and what reads it."""

    def prepared(module: str, name: str, at: Path) -> None:
        out = at / "prepared"
        try:
            for _ in save(read_pieces(module, at, name, {}), out):
                pass
        finally:
            whole = len(list(out.glob("*"))) if out.is_dir() else 0
            assert whole in (0, 4), f"{whole} of 4 tables are written"

    compile_files(folder / "sample", {"seed": 13, "questions": 24, "sessions": 6})
    write_persons(folder / "personabench" / PERSONS, 1 / 250, 17)
    write_contexts(folder / "personamem/personamem", 1 / 250, 17)
    (folder / "haystacks").mkdir(parents=True)
    write_haystacks(folder / "haystacks", 1 / 250, 17)
    (oracle,) = (folder / "haystacks").rglob("*oracle*.json")
    (folder / "longmemeval").mkdir()
    oracle.rename(folder / "longmemeval" / oracle.name)
    for module, name in (
        ("sample", "sample"),
        ("longmemeval", "longmemeval-oracle"),
        ("personabench", "personabench-n00"),
        ("personamem", "personamem-32k"),
    ):
        yield module, partial(prepared, module, name)
    if mirror := mirror_folder():
        (found,) = mirror.rglob("locomo10.json")
        at = folder / "locomo" / found.relative_to(mirror)
        at.parent.mkdir(parents=True)
        at.write_text(json.dumps(json.loads(found.read_bytes())[:1]))
        yield "locomo", partial(prepared, "locomo", "locomo")
        yield "locomo answers", published(folder / "locomo answers", mirror, at)


def published(folder: Path, mirror: Path, conversations: Path) -> Callable[[Path], object]:
    """Published answers to one conversation, each file's first ten, and how they are read."""
    for name, _ in locomo_answers.READERS.values():
        path = folder / "locomo_audit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = json.loads((mirror / "locomo_audit" / name).read_bytes())
        groups = whole["detailed_results"].values()
        entries = [e for group in groups for e in group if "locomo_0_" in e["question_id"]]
        path.write_text(json.dumps({"detailed_results": {"0": entries[:10]}}))
    return lambda at: list(locomo_answers.stream(at, conversations.parents[1]))


def files(folder: Path) -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Tables, parameters, answers, labels, runs and the memory's files, each with its reader."""
    stamp = count()
    for suffix in (".tex", ".html", ".md", ".csv", ".xlsx", ".docx", ".pdf"):
        name = f"audit of {suffix[1:]}"
        (folder / name).mkdir()
        papers.WRITERS.get(suffix, papers.write_text_of)(folder / name / f"paper{suffix}")
        if suffix == ".tex":
            (folder / name / "paper.tex").write_text(papers.LATEX)
        yield name, lambda at, suffix=suffix: audit_file(at / f"paper{suffix}").failing("weak")
    (folder / "params").mkdir()
    shutil.copy(root() / "params.yaml", folder / "params")
    yield "params", lambda at: params._plan(at / "params.yaml", next(stamp))
    for paper in ("rfmem", "maxsim"):
        name = f"printed numbers of {paper}"
        (folder / name / paper).mkdir(parents=True)
        shutil.copy(root() / f"memrepro/papers/{paper}/printed.yaml", folder / name / paper)
        yield name, lambda at, paper=paper: printed(at, paper)
    asked = [f"q{n}" for n in range(6)]
    said = {"autoeval_label": {"model": "m", "label": True}}
    text = {"speaker": "user", "text": "I like tea"}
    lines = {
        "hypotheses": [{"question_id": q, "hypothesis": "yes", **said} for q in asked],
        "labels": [{"question_id": q, "label": "yes"} for q in asked],
        "messages": [{"message_id": q, "at": 1683504000 + n, **text} for n, q in enumerate(asked)],
        "a run": [{"query_id": q, "ranked": ["a", "b"]} for q in asked],
    }
    for name, rows in lines.items():
        (folder / name).mkdir()
        (folder / name / "it.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    for name, (file, data, use) in GIVEN.items():
        (folder / name).mkdir()
        (folder / name / file).write_bytes(data)
        yield name, lambda at, file=file, use=use: use(at / file)
    yield "hypotheses", lambda at: import_hypotheses(at / "it.jsonl", asked)
    yield "labels", lambda at: read_labels(at / "it.jsonl", dict.fromkeys(asked, True))
    yield "messages", added
    yield "a run", lambda at: questions_of(at / "it.jsonl")
    yield "memory", stored(folder / "memory")
    yield "records of answers", recorded(folder / "records of answers")


def printed(at: Path, paper: str) -> None:
    """Read a document's printed numbers anew."""
    documents._whole_file.cache_clear()
    documents.tables.cache_clear()
    documents.tables(paper, at)
    documents.checks(paper, at)


def added(at: Path) -> None:
    """Add the messages of a file to a memory, which then holds all of them or none."""
    messages, memory = read_messages(at / "it.jsonl"), at / "memory"
    with TieredMemory(memory, "ann", HashEncoder(16), SETTINGS) as opened:
        try:
            done = opened.add(messages)
        except BaseException:
            assert not control.messages(opened), "refused messages are there"
            raise
        assert len(control.messages(opened)) == done.stored


def stored(folder: Path) -> Callable[[Path], object]:
    """An export of a memory, and how it is imported."""
    folder.mkdir()
    with TieredMemory(folder.parent / "of", "ann", HashEncoder(16), SETTINGS) as memory:
        memory.add(chat(12))
        memory.maintain(memory.recent()[-1].at + 3e6)
        control.export(memory, folder / "it.json")

    def imported(at: Path) -> None:
        with TieredMemory(at / "into", "ann", HashEncoder(16), SETTINGS) as memory:
            try:
                control.import_(memory, at / "it.json")
            except BaseException:
                assert not control.messages(memory), "a refused import left messages"
                raise

    return imported


def recorded(folder: Path) -> Callable[[Path], object]:
    """Recorded answers as a file, and how they are taken in."""
    folder.mkdir()
    prompts = [Prompt((Message("user", f"question {n}"),)) for n in range(5)]
    answer = Answer("yes", 3, 1, 0.1, "toy", "1", "stop", "m", ())
    with AnswerStore(folder.parent / "answers.sqlite") as store:
        store.add([Record(prompt, answer) for prompt in prompts])
        export_records(store, folder / "it.jsonl")

    def taken_in(at: Path) -> None:
        with AnswerStore(at / "a.sqlite") as store:
            try:
                import_records(store, at / "it.jsonl", sha256(at / "it.jsonl"))
            except BaseException:
                assert not len(store), "a refused import left answers"
                raise

    return taken_in


def cases(folder: Path, chance: Random) -> Iterator[Case]:
    """Each target in turn, one file of it damaged."""
    whole, work = folder / "whole", folder / "work"
    targets = [*datasets(whole), *files(whole)]
    for name, use in targets:
        shutil.copytree(whole / name, work)
        if (case := tried(name, lambda use=use: use(work))).outcome != ACCEPTED:
            raise SystemExit(f"{name} is refused as it is: {case}")
        shutil.rmtree(work)
    while True:
        for name, use in targets:
            shutil.copytree(whole / name, work)
            found = [path for path in sorted(work.rglob("*")) if path.is_file()]
            injured(chance.choice(found), chance)
            yield tried(name, lambda use=use: use(work))
            shutil.rmtree(work)
