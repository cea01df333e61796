"""The endpoint backend against a real local server: concurrency, pace, retries, budget, key."""

import json
import logging
import time
from collections import Counter
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.llm.completions import Broken, said_of, seconds_to_wait, to_answer
from memrepro.llm.endpoint import Endpoint
from memrepro.llm.model import ModelIdentity, Parameters, Prompt, prompt_key
from memrepro.llm.pace import Budget, most_tokens
from memrepro.llm.recorded import Recorded, Recording
from memrepro.llm.records import AnswerStore
from memrepro.llm.shipping import export_records
from tests.llm.server import completion, said, serving

IDENTITY = ModelIdentity("toy-model", "2024-07-18")
PROMPTS = [Prompt.of(f"question {i}", "be brief") for i in range(12)]
KEY = "sk-live-Zx81qQ7v"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server():
    with serving() as server:
        yield server


def backend(server, **settings):
    return Endpoint(server.url, IDENTITY, **({"pause": 0.01} | settings))


def ask(server, prompts=PROMPTS, **settings):
    return dict(backend(server, **settings).stream(prompts))


def asked(server):
    return Counter(body["messages"][-1]["content"] for body in server.asked)


# What is sent, and what comes back.


def test_a_request_holds_the_prompt_and_its_parameters(server):
    prompt = Prompt.of("q", "s", Parameters(0.5, 9, 3, ("\n", "END")))
    ((_, answer),) = backend(server).stream([prompt])
    assert server.asked == [
        {
            "model": "toy-model",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
            "temperature": 0.5, "max_tokens": 9, "seed": 3, "stop": ["\n", "END"],
        }
    ]  # fmt: skip
    assert "Authorization" not in server.heads[0]
    assert (answer.text, answer.finish_reason) == ("1 letters: q", "stop")
    assert (answer.prompt_tokens, answer.answer_tokens, answer.tokens) == (2, 7, 9)
    assert answer.identity == IDENTITY
    assert answer.maker == "served-model fp_1"
    assert 0 < answer.seconds < 5


def test_concurrency_is_kept():
    with serving(seconds=0.03) as server:
        ask(server, concurrency=3)
        assert server.most == 3
    with serving(seconds=0.03) as server:
        ask(server, PROMPTS[:4], concurrency=1)
        assert server.most == 1


def test_prompts_are_taken_only_when_there_is_room(server):
    taken = []

    def upcoming():
        for prompt in PROMPTS:
            taken.append(prompt)
            yield prompt

    for number, _ in enumerate(backend(server, concurrency=2).stream(upcoming()), start=1):
        # Two in flight, and the one that waits.
        assert len(taken) <= number + 3


def test_requests_are_spaced_evenly(server):
    began = time.monotonic()
    ask(server, PROMPTS[:6], requests_per_minute=1200)
    assert len(server.times) == 6
    # 50 ms from each to the next as they leave; on the way two may come closer.
    assert max(server.times) - began >= 5 * 0.05


# What fails, and is tried again.


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429},
        {"status": 500, "body": b"<html>oops</html>"},
        {"status": 200, "body": b"<html>a proxy's page</html>"},
        {"status": 200, "body": b'{"choices": [{"mess'},
        {"status": 200, "body": b"\xff\xfe\x00"},
        {"half": True},
        {"drop": True},
    ],
    ids=lambda fault: str(fault)[1:30],
)
def test_a_passing_fault_is_tried_again(server, fault):
    server.faults["question 3"] = [fault, fault]
    got = ask(server)
    assert {a.text for a in got.values()} == {said(p.messages[-1].content) for p in PROMPTS}
    assert asked(server)["question 3"] == 3
    assert len(server.asked) == 14


def test_a_timeout_is_tried_again(server):
    server.faults["question 3"] = [{"hang": 0.6}]
    assert len(ask(server, timeout=0.2)) == 12
    assert asked(server)["question 3"] == 2


def test_retry_after_holds_all_requests_back(server):
    server.faults["question 0"] = [{"status": 429, "headers": {"Retry-After": "0.7"}}]
    ask(server, PROMPTS[:4], concurrency=1)
    gaps = [b - a for a, b in zip(server.times, server.times[1:], strict=False)]
    assert gaps[0] >= 0.6
    assert max(gaps[1:]) < 0.5


def test_pauses_double_with_jitter(server):
    server.faults["question 0"] = [{"status": 500}] * 4
    ask(server, PROMPTS[:1], pause=0.05)
    gaps = [b - a for a, b in zip(server.times, server.times[1:], strict=False)]
    for gap, least in zip(gaps, (0.05, 0.1, 0.2, 0.4), strict=True):
        assert least <= gap <= least + 0.05 + 0.2


def test_a_retry_after_of_an_hour_ends_the_work(server):
    server.faults["question 0"] = [{"status": 429, "headers": {"Retry-After": "3600"}}]
    with pytest.raises(MemreproError, match=r"status 429.*asks to wait for 3600 s"):
        ask(server, PROMPTS[:1])
    assert len(server.asked) == 1


def test_a_prompt_without_an_answer_stops_no_other(server):
    server.faults["question 3"] = [{"status": 500}] * 9
    got, key = [], prompt_key(IDENTITY, PROMPTS[3]).hex()[:12]
    with pytest.raises(MemreproError, match=rf"1 prompts have no answer, first {key}….*3 tries\)"):
        for prompt, _ in backend(server, tries=3).stream(PROMPTS):
            got.append(prompt)
    assert sorted(got, key=PROMPTS.index) == PROMPTS[:3] + PROMPTS[4:]
    assert asked(server)["question 3"] == 3


def test_three_in_a_row_end_the_work(server):
    server.always = {"status": 500, "body": b'{"error": "down"}'}
    many = [Prompt.of(f"{i}") for i in range(50)]
    with pytest.raises(MemreproError, match=r"3 prompts in a row have no answer.*500 \(down\)"):
        ask(server, many, tries=2, concurrency=2)
    assert len(server.asked) <= 2 * 4


def test_an_address_where_nobody_listens_is_one_sentence():
    with serving() as server:
        pass
    with pytest.raises(MemreproError, match=r"no connection.*run the same command again"):
        ask(server, tries=2, concurrency=2)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ({"status": 404, "body": b'{"error": {"message": "no model x"}}'}, r"404 \(no model x\)"),
        ({"status": 307, "headers": {"Location": "/v2"}}, r"status 307.*model 'toy-model'"),
        (
            {"status": 429, "body": b'{"error": {"code": "insufficient_quota", "message": "pay"}}'},
            r"429 \(pay\)",
        ),
    ],
)
def test_what_concerns_all_prompts_ends_the_work_at_once(server, fault, why):
    server.always = fault
    with pytest.raises(MemreproError, match=why):
        ask(server, concurrency=2)
    assert len(server.asked) <= 2


def test_a_wrong_request_is_not_tried_again(server):
    server.faults["question 3"] = [
        {"status": 400, "body": b'{"object": "error", "message": "no seed here", "code": 400}'}
    ]
    with pytest.raises(MemreproError, match=r"status 400 \(no seed here\)"):
        ask(server)
    assert len(server.asked) == 12


def test_a_prompt_with_options_is_never_sent(server):
    options = Prompt.of("a or b?", parameters=Parameters(options=("a", "b")))
    with pytest.raises(MemreproError, match=r"a prompt has options, and an endpoint does not say"):
        ask(server, [options])
    assert server.asked == []


def test_a_prompt_that_is_refused_for_itself_is_recorded_so(server, tmp_path):
    body = b'{"error": {"code": "context_length_exceeded", "message": "too long"}}'
    server.faults["question 3"] = [{"status": 400, "body": body}]
    with AnswerStore(tmp_path / "a.sqlite") as store:
        got = Recording(store, backend(server), progress=False).answer(PROMPTS)
        again = Recorded(store, IDENTITY, "e").answer(PROMPTS)
    assert got[3].finish_reason == "refused: context_length_exceeded"
    assert (got[3].text, got[3].tokens, got[3].prompt_tokens) == ("", 0, None)
    assert again == got


# The budget.


def test_the_budget_is_never_exceeded_and_what_was_answered_is_kept(server, tmp_path):
    most = most_tokens(PROMPTS[0])
    # Each takes 4 words and 7 tokens, so three are spent when the fourth no longer fits.
    budget = most + 2 * 11 + 5
    with AnswerStore(tmp_path / "a.sqlite") as store:
        live = backend(server, token_budget=budget)
        with pytest.raises(
            MemreproError,
            match=rf"budget of {budget} tokens is used up: 33 are spent, and the next prompt may "
            rf"take {most}; what was answered is kept",
        ):
            Recording(store, live, progress=False).answer(PROMPTS)
        assert len(store) == 3
        assert len(server.asked) == 3
        with pytest.raises(MemreproError, match="33 are spent"):
            Recording(store, live, progress=False).answer(PROMPTS)
        assert len(server.asked) == 3
        Recording(store, backend(server), progress=False).answer(PROMPTS)
        assert len(server.asked) == 12


def test_a_lost_answer_and_one_without_counts_count_at_their_most(server):
    body = json.dumps({"choices": [{"message": {"content": "x"}}]}).encode()
    server.faults["question 0"] = [{"body": body}]
    live = backend(server, token_budget=10**6)
    ((_, answer),) = live.stream(PROMPTS[:1])
    assert (answer.prompt_tokens, answer.answer_tokens, answer.finish_reason) == (None, None, "")
    assert live.budget.spent == most_tokens(PROMPTS[0])
    server.faults["question 0"] = [{"half": True}]
    live = backend(server, token_budget=10**6)
    list(live.stream(PROMPTS[:1]))
    assert live.budget.spent == most_tokens(PROMPTS[0]) + 11
    server.faults["question 1"] = [{"half": True}]
    live = backend(server, token_budget=most_tokens(PROMPTS[1]) + 1)
    with pytest.raises(MemreproError, match="is used up"):
        list(live.stream(PROMPTS[1:2]))
    assert asked(server)["question 1"] == 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=30))
def test_what_is_spent_and_set_aside_stays_within_the_budget(asked):
    budget = Budget(100)
    open_requests = []
    for most, used in asked:
        if budget.take(most):
            open_requests.append((most, min(used, most)))
        elif open_requests:
            budget.settle(*open_requests.pop(0))
        assert 0 <= budget.spent <= budget.spent + sum(m for m, _ in open_requests) <= 100
        assert budget.left == 100 - budget.spent - sum(m for m, _ in open_requests)


# The key.


def holds_no_key(tmp_path, *texts):
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    for text in texts:
        assert KEY not in text
        assert KEY[3:] not in text


def whole_chain(error):
    texts = []
    while error is not None:
        texts += [str(error), repr(error)]
        error = error.__cause__ or error.__context__
    return " ".join(texts)


def test_the_key_is_sent_and_stands_nowhere(tmp_path, monkeypatch, caplog, capsys):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TOY_KEY", KEY)
    with serving(key=KEY) as server, AnswerStore(tmp_path / "a.sqlite") as store:
        echo = json.dumps({"error": {"message": f"boom for {KEY}"}}).encode()
        server.faults["question 1"] = [{"status": 500, "body": echo}, {"half": True}]
        server.faults["question 2"] = [{"status": 400, "body": echo}]
        live = backend(server, key_variable="TOY_KEY")
        with pytest.raises(MemreproError, match=r"boom for <TOY_KEY>") as caught:
            Recording(store, live).answer(PROMPTS)
        assert {head["Authorization"] for head in server.heads} == {f"Bearer {KEY}"}
        assert len(store) == 11
        export_records(store, tmp_path / "out.jsonl")
        out = capsys.readouterr()
        assert "try 1 failed" in caplog.text
        holds_no_key(
            tmp_path, caplog.text, out.out, out.err, repr(live), whole_chain(caught.value),
            str(vars(live)),
        )  # fmt: skip


def test_a_refused_key_ends_the_work_and_is_not_shown(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TOY_KEY", KEY)
    with serving(key="another") as server:
        with pytest.raises(
            MemreproError, match=r"does not accept the key in TOY_KEY \(status 401\)"
        ) as caught:
            ask(server, key_variable="TOY_KEY", concurrency=2)
        assert len(server.asked) <= 2
        holds_no_key(tmp_path, caplog.text, whole_chain(caught.value))
        with pytest.raises(MemreproError, match="does not accept requests with no key"):
            ask(server, concurrency=2)


@pytest.mark.parametrize("value", [None, "", "  ", "two words", f"{KEY}\nx", "schlüssel", "\x07"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(monkeypatch, value, server):
    monkeypatch.delenv("TOY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("TOY_KEY", value)
    with pytest.raises(MemreproError, match=r"environment variable TOY_KEY, which") as caught:
        ask(server, key_variable="TOY_KEY")
    if value and value.strip():
        assert value not in whole_chain(caught.value)
    assert server.asked == []


@pytest.mark.parametrize("how", ["plain", "escaped"])
def test_an_answer_that_holds_the_key_is_not_recorded(tmp_path, monkeypatch, how):
    monkeypatch.setenv("TOY_KEY", KEY)
    text = KEY if how == "plain" else "ESCAPED"
    body = json.dumps(completion(f"your key is {text}", 1, 1))
    body = body.replace("ESCAPED", "".join(f"\\u{ord(c):04x}" for c in KEY)).encode()
    with serving(key=KEY) as server, AnswerStore(tmp_path / "a.sqlite") as store:
        server.faults["question 3"] = [{"body": body}]
        with pytest.raises(MemreproError, match=r"holds the API key, so it was not") as caught:
            Recording(store, backend(server, key_variable="TOY_KEY"), progress=False).answer(
                PROMPTS
            )
        assert len(store) == 11
        holds_no_key(tmp_path, whole_chain(caught.value))


@pytest.mark.parametrize(
    "url",
    [f"http://user:{KEY}@host/v1", f"https://host/v1?key={KEY}", f"ftp://{KEY}", KEY, "", None,
     "http://[::1"],
)  # fmt: skip
def test_a_url_that_may_hold_a_key_is_refused_and_not_shown(url):
    with pytest.raises(MemreproError, match=r"url must be http\(s\)://<host>/<path>") as caught:
        Endpoint(url, IDENTITY)
    assert KEY not in whole_chain(caught.value)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"concurrency": 0}, "concurrency is 0: it must be at least 1"),
        ({"tries": 0}, "tries is 0"),
        ({"pause": -1}, "pause is -1: it must be at least 0"),
        ({"requests_per_minute": 0}, "requests_per_minute is 0: it must be above 0"),
        ({"token_budget": -5}, "token_budget is -5"),
    ],
)
def test_settings_out_of_range_are_refused(setting, why):
    with pytest.raises(MemreproError, match=why):
        Endpoint("http://host/v1", IDENTITY, **setting)


# Bodies.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.sampled_from(["a", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "refusal", "finish_reason", "usage", "model",
                 "error", "code", "prompt_tokens", "system_fingerprint"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON | st.builds(lambda m, u: {"choices": [{"message": m}], "usage": u}, JSON, JSON))
def test_any_json_is_an_answer_or_broken(value):
    body = json.dumps(value).encode()
    said_of(body)
    try:
        answer = to_answer(body, IDENTITY, 0.1)
    except Broken:
        return
    assert answer.text.encode() is not None
    assert answer.tokens >= 0


@given(st.binary(max_size=40))
def test_any_bytes_are_an_answer_or_broken(body):
    said_of(body)
    with pytest.raises(Broken):
        to_answer(body, IDENTITY, 0.1)


def test_deep_json_is_broken():
    body = b'{"choices": ' + b"[" * 200_000
    assert said_of(body)[0] == ""
    with pytest.raises(Broken):
        to_answer(body, IDENTITY, 0.1)


def test_half_a_pair_is_replaced_and_a_refusal_is_told():
    body = {"choices": [{"message": {"content": "a\ud83d b \U0001f600"}, "finish_reason": "stop"}]}
    assert to_answer(json.dumps(body).encode(), IDENTITY, 0.1).text == "a\ufffd b \U0001f600"
    body = {"choices": [{"message": {"content": None, "refusal": "I will not"}}]}
    answer = to_answer(json.dumps(body).encode(), IDENTITY, 0.1)
    assert (answer.text, answer.finish_reason) == ("", "refused: I will not")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("", 0), ("2", 2), ("0.5", 0.5), ("-3", 0), ("nan", 0), ("inf", 0), ("soon", 0),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)  # fmt: skip
def test_retry_after_is_read_with_care(header, seconds):
    assert seconds_to_wait(header) == seconds


def test_retry_after_may_be_a_date():
    # A date has whole seconds.
    assert 8 < seconds_to_wait(formatdate(time.time() + 10, usegmt=True)) <= 10
