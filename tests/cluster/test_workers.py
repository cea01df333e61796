"""Work on a local Ray cluster: the same bytes by any number of workers, whichever of them die."""

import os
import random
import signal
import socket
import sqlite3
import threading
from collections import Counter
from contextlib import ExitStack
from functools import partial

import pytest

from memrepro.cluster import workers
from memrepro.cluster.spread import in_order, in_threads
from memrepro.cluster.workers import VARIABLE, Workers, each_of, opened
from memrepro.core.memory import Dataset, Memory, Query, Round
from memrepro.encode.encoder import HashEncoder
from memrepro.encode.load import load_encoder
from memrepro.encode.shards import ShardedEncoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.errors import MemreproError
from memrepro.llm.model import Prompt
from memrepro.llm.recorded import Recording
from memrepro.llm.records import AnswerStore
from memrepro.llm.shared_out import SharedOut
from memrepro.text.sources import by_nlp
from tests.cluster.made import IDENTITY, Logged, Parrot, deadly

BATCH, WORKERS, KILLS = 4, 2, 2


def test_items_go_round_and_results_come_in_order():
    taken, begun = [], []
    items = (taken.append(n) or n for n in range(10))
    submits = [lambda n, place=place: begun.append((place, n)) or n for place in range(2)]
    for item, result in in_order(items, submits, lambda handle: handle * handle):
        assert result == item * item
        assert len(taken) <= item + 4  # two ahead for each worker
    assert begun == [(n % 2, n) for n in range(10)]


def test_one_worker_takes_an_item_only_when_the_one_before_is_kept():
    taken = []
    for item, result in in_threads((taken.append(n) or n for n in range(3)), [str]):
        assert (taken[-1], result) == (item, str(item))


# Below, a real Ray.


def texts_to_embed(n=200):
    draw = random.Random(1)
    return [f"text {i} " + "word " * draw.randrange(60) for i in range(n)]


@pytest.fixture(scope="module")
def ray_address():
    pytest.importorskip("ray", reason="the extra cluster is not installed")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        # A machine that is busy is not a dead one.
        patch.setenv("RAY_gcs_server_port_wait_time_s", "600")
        patch.setenv("RAY_worker_register_timeout_seconds", "600")
        patch.setenv("RAY_health_check_failure_threshold", "100")
        try:
            address = stack.enter_context(opened(f"local:{WORKERS}"))
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
            pytest.skip("Ray did not start within its own 30 seconds")
        yield address


@pytest.fixture
def cluster(ray_address, monkeypatch):
    monkeypatch.setenv(VARIABLE, ray_address)


@pytest.fixture
def one_worker(cluster, monkeypatch):
    """Each worker imports for seconds."""
    monkeypatch.setattr(workers, "_resource", lambda *_: ("CPU", 1))


def logged(log):
    return [line.split(" ", 1) for line in log.read_text().splitlines()] if log.exists() else []


def kept(path):
    with sqlite3.connect(path, timeout=30) as db:
        return db.execute("SELECT count(*) FROM vectors").fetchone()[0]


@pytest.mark.slow
def test_bytes_of_several_workers_are_those_of_one_machine(cluster, tmp_path):
    """Those of one worker are compared below, with a real encoder."""
    texts, log = texts_to_embed(), tmp_path / "log"
    encoder = ShardedEncoder(partial(Logged, log))
    with VectorStore(tmp_path / "here.sqlite") as a, VectorStore(tmp_path / "there.sqlite") as b:
        want = embed(texts, HashEncoder(32), "document", a, batch_size=BATCH)
        got = embed(texts, encoder, "document", b, batch_size=BATCH)
    assert got.tobytes() == want.tobytes()
    assert len({pid for pid, _ in logged(log)}) == WORKERS
    assert str(os.getpid()) not in {pid for pid, _ in logged(log)}
    assert encoder.encode(texts[:50], "query").tobytes() == want[:50].tobytes()


@pytest.mark.slow
def test_who_waits_for_cores_that_never_come_free_is_told(cluster, monkeypatch, capsys):
    monkeypatch.setattr(workers, "_resource", lambda *_: ("CPU", WORKERS + 1))
    monkeypatch.setattr(workers, "_SILENT_SECONDS", 0.1)
    monkeypatch.setattr(workers, "_START_SECONDS", 2)
    with pytest.raises(MemreproError, match="see that its cores are free"):
        list(each_of(str, [1]))
    said = capsys.readouterr().err
    assert f"waiting up to 2 s for {WORKERS + 1} of {WORKERS + 1} workers" in said
    assert "another command holds its CPUs" in said


@pytest.mark.slow
def test_killed_workers_lose_nothing_and_nothing_kept_is_computed_twice(cluster, tmp_path):
    path, log, draw = tmp_path / "e.sqlite", tmp_path / "log", random.Random(7)
    texts = texts_to_embed()
    go_on, done, kills = tmp_path / "go on", threading.Event(), []
    encoder = ShardedEncoder(partial(Logged, log, go_on=go_on))

    def kill_now_and_then():
        while len(kills) < KILLS and not done.wait(draw.uniform(0, 0.3)):
            if at_work := sorted({int(pid) for pid, _ in logged(log)} - set(kills)):
                victim = draw.choice(at_work)
                # What was kept when it died must not be begun after that.
                before = kept(path), len(logged(log))
                os.kill(victim, signal.SIGKILL)
                kills.append(victim)
                marks.append(before)
        go_on.touch()

    marks = []
    with VectorStore(path) as store:
        killer = threading.Thread(target=kill_now_and_then)
        killer.start()
        got = embed(texts, encoder, "document", store, batch_size=BATCH)
        done.set()
        killer.join()
        assert store.encoded == len(texts)
    with VectorStore(tmp_path / "whole.sqlite") as whole:
        want = embed(texts, HashEncoder(32), "document", whole, batch_size=BATCH)
    assert got.tobytes() == want.tobytes()
    assert len(kills) == KILLS
    begun = [text.strip() for _, text in logged(log)]
    order = [t.split(" word")[0].strip() for t in sorted(texts, key=lambda t: (-len(t), t))]
    for number, lines in marks:  # the longest are kept first
        assert not set(order[:number]) & set(begun[lines:])
    times = Counter(begun)
    assert set(times) == set(order)
    twice = sum(times.values()) - len(order)
    # A worker has two batches in hand.
    assert twice <= len(kills) * 2 * BATCH
    print(f"{len(kills)} workers killed; texts encoded again, never one that was kept: {twice}")


@pytest.mark.slow
def test_what_a_worker_says_is_said_and_the_batches_before_it_are_kept(one_worker, tmp_path):
    texts = texts_to_embed(60)
    order = sorted(texts, key=lambda t: (-len(t), t))
    encoder = ShardedEncoder(partial(Logged, tmp_path / "log", poison=order[30]))
    with VectorStore(tmp_path / "e.sqlite") as store:
        with pytest.raises(MemreproError, match="^a vector is not finite$"):
            embed(texts, encoder, "document", store, batch_size=BATCH)
        assert len(store) == 30 // BATCH * BATCH


@pytest.mark.slow
def test_an_item_that_kills_each_worker_ends_the_work(one_worker, monkeypatch):
    monkeypatch.setattr(workers, "_RETRIES", 1)
    found = Workers(deadly, gpus=False).stream(["small", "too large", "small"])
    # What came before it may be lost with its worker, or not.
    with pytest.raises(MemreproError, match="a worker died of one batch 2 times: see that the mem"):
        list(found)


@pytest.mark.slow
def test_machines_with_other_code_are_refused(one_worker, monkeypatch):
    monkeypatch.setattr(workers, "code", lambda: "another commit")
    refused = Workers(HashEncoder, gpus=False)
    for _ in range(2):  # who asks again is not let in
        with pytest.raises(MemreproError, match="has other files of memrepro") as error:
            refused.each(None)
    assert len(str(error.value)) <= 400


@pytest.mark.slow
def test_a_real_encoder_gives_the_bytes_of_one_machine(one_worker, tmp_path):
    make = partial(load_encoder, "all-minilm-l6-v2", device="cpu")
    here = make()
    texts = texts_to_embed(80)
    with VectorStore(tmp_path / "a.sqlite") as a, VectorStore(tmp_path / "b.sqlite") as b:
        want = embed(texts, here, "document", a)
        sharded = ShardedEncoder(make)
        assert embed(texts, sharded, "document", b).tobytes() == want.tobytes()
        # The same keys: what the cluster made is found without it.
        embed(texts, here, "document", b)
        assert b.encoded == len(texts)


@pytest.mark.slow
def test_extraction_gives_what_one_machine_gives(one_worker, monkeypatch):
    docs = [
        (
            f"s{n}",
            Round.from_texts(
                f"r{n}", user=f"I bought {n} red books in Berlin, and my cat likes rain."
            ),
        )
        for n in range(40)
    ]
    memories = {"m": Memory.from_rounds("m", *docs)}
    dataset = Dataset("toy", memories, (Query("q", "m", "What did I buy?", "", "kind"),))
    there = by_nlp(dataset)
    monkeypatch.delenv(VARIABLE)
    assert by_nlp(dataset) == there
    assert len(there.texts) > 40


@pytest.mark.slow
def test_a_model_in_process_answers_on_all_workers_in_its_own_batches(cluster, tmp_path):
    prompts = [Prompt.from_user(f"question {'long ' * n}{n}") for n in range(11)]
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        model = Recording(store, SharedOut(Parrot, 2), progress=False)
        assert model.identity == IDENTITY
        answers = model.answer(prompts)
        assert [a.text for a in answers] == [
            f"{p.messages[-1].content} of {1 if n == 0 else 2}" for n, p in enumerate(prompts)
        ]
        assert len({a.maker for a in answers}) == WORKERS
        assert model.answer(prompts) == answers


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("127.0.0.1:{closed}", "does not answer .*refused"),
        ("127.0.0.1:{mute}", "does not answer as Ray of this version within"),
        ("head", "does not answer"),
        ("local:0", "local:N with N from 1"),
    ],
)
def test_a_cluster_that_does_not_answer_is_one_sentence_in_bounded_time(asked, says, monkeypatch):
    pytest.importorskip("ray", reason="the extra cluster is not installed")
    monkeypatch.setattr(workers, "_RAY_SECONDS", 3)
    with socket.socket() as mute, socket.socket() as closed:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        closed.bind(("127.0.0.1", 0))
        ports = {"mute": mute.getsockname()[1], "closed": closed.getsockname()[1]}
        with pytest.raises(MemreproError, match=says) as error, opened(asked.format(**ports)):
            pass
    assert len(str(error.value)) <= 400


def test_without_a_cluster_everything_stays_here(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with opened("") as address:
        assert address == ""
    assert list(each_of(str, range(40))) == [str(n) for n in range(40)]
