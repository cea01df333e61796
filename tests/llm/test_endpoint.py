"""The endpoint backend against a real local server: concurrency, pace, retries, budget, key."""

import contextlib
import gzip
import json
import logging
import socket
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.llm.completions import Broken, Erred, error_of, seconds_to_wait, to_answer
from memrepro.llm.endpoint import Endpoint
from memrepro.llm.exchange import MOST_BYTES
from memrepro.llm.model import Answer, ModelIdentity, Parameters, Prompt, Tokens
from memrepro.llm.outcomes import OUTCOMES, outcome_of
from memrepro.llm.pace import Budget, most_tokens
from memrepro.llm.prices import Price, read_prices
from memrepro.llm.recorded import Recording
from memrepro.llm.records import AnswerStore
from memrepro.llm.request import Request
from memrepro.llm.shipping import export_records
from tests.llm.bodies import (
    CUTS,
    ENDS,
    FILTERS,
    NOT_TOO_LONG,
    OTHERS,
    THOUGHT,
    TOO_LONG,
    body,
    error,
)  # fmt: skip
from tests.llm.server import Fault, completion, said, serving

IDENTITY = ModelIdentity("toy-model", "2024-07-18")
PROMPTS = [Prompt.from_user(f"question {i}", "be brief") for i in range(12)]
KEY = "sk-live-Zx81qQ7v"


@pytest.fixture(autouse=True)
def _proxy(monkeypatch):
    """One that nothing on this machine goes by, nobody listens at, and whose password is a key."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://user:{KEY}@127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


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
    prompt = Prompt.from_user("q", "s", Parameters(0.5, 9, 3, ("\n", "END")))
    ((_, answer),) = backend(server).stream([prompt])
    assert server.asked == [
        {
            "model": "toy-model",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
            "temperature": 0.5, "max_tokens": 9, "seed": 3, "stop": ["\n", "END"],
        }
    ]  # fmt: skip
    assert "Authorization" not in server.heads[0]
    assert (answer.text, answer.finish_reason) == (said("q"), "stop")
    assert (answer.prompt_tokens, answer.answer_tokens, sum(answer.tokens)) == (2, 6, 8)
    assert answer.identity == IDENTITY
    assert answer.maker == "served-model fp_1"
    assert answer.seconds > 0


def test_a_model_is_asked_by_the_fields_that_it_takes(server):
    request = Request("max_completion_tokens", 4000, {
        "temperature": None, "seed": None, "reasoning_effort": "low", "provider": {"only": ["x"]},
    })  # fmt: skip
    asked = request.asked_of(IDENTITY)
    live = Endpoint(server.url, asked, request=request, token_budget=6000)
    ((_, answer),) = live.stream([Prompt.from_user("q", parameters=Parameters(maximum_tokens=9))])
    assert server.asked == [
        {
            "model": "toy-model", "messages": [{"role": "user", "content": "q"}],
            "max_completion_tokens": 4009, "reasoning_effort": "low", "provider": {"only": ["x"]},
        }
    ]  # fmt: skip
    # The usual request has the keys that it always had; another one has its own.
    assert Request().asked_of(IDENTITY) == IDENTITY
    assert answer.identity == asked
    assert asked.revision.startswith('2024-07-18 asked with {"fields": {')
    with pytest.raises(MemreproError, match="budget of 3000 tokens is used up"):
        list(Endpoint(server.url, asked, request=request, token_budget=3000).stream(PROMPTS))


def test_concurrency_is_kept():
    for number in (3, 1):
        # Each waits until so many are there.
        together = threading.Barrier(number, timeout=60)
        with serving() as server:
            server.content.reply = lambda _, together=together: f"{together.wait()}"
            ask(server, concurrency=number, tries=1)
            assert server.most == number


def test_requests_are_spaced_evenly(server):
    began = time.monotonic()
    ask(server, PROMPTS[:6], requests_per_minute=1200)
    assert len(server.times) == 6
    # 50 ms from each to the next as they leave; on the way two may come closer.
    assert max(server.times) - began >= 5 * 0.05


# What fails, and is tried again.


@pytest.mark.parametrize("fault", [Fault(status=429), Fault(body=b"<html>"), Fault(half=True)],
                         ids=lambda fault: str(fault)[6:60])  # fmt: skip
def test_a_passing_fault_is_tried_again(server, fault):
    server.faults["question 3"] = [fault, fault]
    got = ask(server)
    assert {a.text for a in got.values()} == {said(p.messages[-1].content) for p in PROMPTS}
    assert asked(server)["question 3"] == 3
    assert len(server.asked) == 14


def test_retry_after_holds_all_requests_back(server):
    server.faults["question 0"] = [Fault(status=429, headers={"Retry-After": "0.7"})]
    ask(server, PROMPTS[:1])
    # Its own pause is 10 ms: what held it back holds back all.
    assert server.times[1] - server.times[0] >= 0.6


def test_pauses_double_with_jitter(server):
    server.faults["question 0"] = [Fault(status=500)] * 4
    ask(server, PROMPTS[:1], pause=0.05)
    gaps = [b - a for a, b in zip(server.times, server.times[1:], strict=False)]
    for gap, least in zip(gaps, (0.05, 0.1, 0.2, 0.4), strict=True):
        assert gap >= least


def test_three_in_a_row_end_the_work(server):
    server.always = Fault(status=500, body=b'{"error": "down"}')
    many = [Prompt.from_user(f"{i}") for i in range(50)]
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
        (Fault(status=404, body=b'{"error": {"message": "no model x"}}'), r"404 \(no model x\)"),
        (Fault(status=307, headers={"Location": "/v2"}), r"status 307.*model 'toy-model'"),
        (
            Fault(status=429, body=b'{"error": {"code": "insufficient_quota", "message": "pay"}}'),
            r"429 \(pay\)",
        ),
        (Fault(status=429, headers={"Retry-After": "3600"}), r"429.*asks to wait for 3600 s"),
        (
            error(400, {"error": {"code": "unsupported_parameter", "message": "Use another."}}),
            r"another\.\); say in `request` of its entry",
        ),
    ],
)
def test_what_concerns_all_prompts_ends_the_work_at_once(server, fault, why):
    server.always = fault
    with pytest.raises(MemreproError, match=why):
        ask(server, concurrency=2)
    assert len(server.asked) <= 2


def test_a_prompt_with_options_is_never_sent(server):
    options = Prompt.from_user("a or b?", parameters=Parameters(options=("a", "b")))
    with pytest.raises(MemreproError, match=r"a prompt has options, and an endpoint does not say"):
        ask(server, [options])
    assert server.asked == []


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (HEAD + b"\r\n", b" "),
        (HEAD + b"X-Slow: ", b"x"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (b"", b""),
    ],
    ids=["a blank at a time", "until it closes", "a header without end", "hints", "nothing"],
)
def test_a_reply_without_an_end_is_given_up(first, then):
    def trickle():
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(first)
                while not done.wait(0.05):
                    connection.sendall(then)

    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with pytest.raises(MemreproError, match=r"a reply that did not end in 0\.5 s, 1 tries"):
            dict(Endpoint(url, IDENTITY, tries=1, longest=0.5).stream(PROMPTS[:1]))
        done.set()
        thread.join()


# The budget.


def test_the_budget_is_never_exceeded_and_what_was_answered_is_kept(server, tmp_path):
    most = sum(most_tokens(PROMPTS[0]))
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
    server.faults["question 0"] = [Fault(body=body)]
    live = backend(server, token_budget=10**6)
    ((_, answer),) = live.stream(PROMPTS[:1])
    assert (answer.prompt_tokens, answer.answer_tokens, answer.finish_reason) == (None, None, "")
    assert live.budget.spent == most_tokens(PROMPTS[0])
    server.faults["question 0"] = [Fault(half=True)]
    live = backend(server, token_budget=10**6)
    list(live.stream(PROMPTS[:1]))
    assert live.budget.spent == most_tokens(PROMPTS[0]).plus(Tokens(4, 7))
    server.faults["question 1"] = [Fault(half=True)]
    live = backend(server, token_budget=sum(most_tokens(PROMPTS[1])) + 1)
    with pytest.raises(MemreproError, match="is used up"):
        list(live.stream(PROMPTS[1:2]))
    assert asked(server)["question 1"] == 1


counts = st.builds(Tokens, st.integers(0, 50), st.integers(0, 50))


@given(st.lists(st.tuples(counts, counts), max_size=30), st.none() | st.integers(1, 200))
def test_what_is_spent_and_set_aside_stays_within_both_budgets(asked, tokens):
    price = Price("EUR", 2e6, 8e6)  # 2 and 8 a token
    budget = Budget(tokens, 400.0, price)
    open_requests, spent = [], Tokens()
    for most, used in asked:
        whole = Tokens(*map(sum, zip(spent, most, *(m for m, _ in open_requests), strict=True)))
        fits = price.cost(whole) <= 400 and (tokens is None or sum(whole) <= tokens)
        assert budget.take(most) == fits
        if fits:
            open_requests.append((most, Tokens(*map(min, used, most))))
        elif open_requests:
            given_back, used = open_requests.pop(0)
            budget.settle(given_back, used)
            spent = spent.plus(used)
        assert budget.spent == spent


def prices_file(tmp_path, text="toy-model: {currency: EUR, prompt: 1.0, answer: 2.0}\n"):
    (tmp_path / "prices.yaml").write_text(text)
    return str(tmp_path / "prices.yaml")


def test_the_budget_in_money_is_never_exceeded_and_what_was_answered_is_kept(server, tmp_path):
    price = read_prices(Path(prices_file(tmp_path)))["toy-model"]
    each, most = price.cost(Tokens(4, 7)), price.cost(most_tokens(PROMPTS[0]))
    assert (each, most) == (
        pytest.approx(18e-6),
        pytest.approx((18 + 8 + 32 + 64 + 1024) / 1e6, 0.2),
    )
    with AnswerStore(tmp_path / "a.sqlite") as store:
        live = backend(server, money_budget=most + 2.5 * each, prices=prices_file(tmp_path))
        with pytest.raises(
            MemreproError,
            match=r"the budget of 0\.0\d+ EUR is used up: 5\.4e-05 are spent, and the next prompt "
            r"may take 0\.0\d+; what was answered is kept; run the same command again",
        ):
            Recording(store, live, progress=False).answer(PROMPTS)
        assert len(store) == len(server.asked) == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("other: {currency: EUR, prompt: 1, answer: 2}", "has no price of 'toy-model'"),
        ("[1]", r"prices\.yaml holds \[1\]: it must map models to prices"),
        ("toy-model: {currency: EUR, prompt: 1.0}", "toy-model lacks the key 'answer'"),
        ("toy-model: {currency: EUR, prompt: -1.0, answer: 2.0}", r"toy-model\.prompt is -1\.0: "),
        ("toy-model: {currency: EUR, prompt: free, answer: 2.0}", r"toy-model\.prompt is 'free'"),
        ("toy-model: {currency: '', prompt: 1.0, answer: 2.0}", r"toy-model\.currency is ''"),
    ],
)
def test_a_budget_in_money_needs_a_price(server, tmp_path, text, why):
    with pytest.raises(MemreproError, match=why):
        backend(server, money_budget=1.0, prices=prices_file(tmp_path, text))
    with pytest.raises(MemreproError, match="no file of prices has no price of 'toy-model'"):
        backend(server, money_budget=1.0)


# What became of each.


BECAME = [
    # What the server does to one prompt for good, what becomes of it, and how often it is asked.
    (Fault(), "answered", 1),
    (body("fine", ""), "answered", 1),
    (body(" \n"), "empty", 1),
    (body("I\u2019m sorry, but I can\u2019t assist with that."), "declined", 1),
    (body("half a sent", "length"), "cut at the limit", 1),
    (body("", "length"), "cut at the limit", 1),
    (body("far too much", tokens=513), "over the limit", 1),
    (body("far too much", "length", tokens=513), "over the limit", 1),
    (body(None, refusal="I will not"), "refused", 1),
    (body("so far", "content_filter"), "refused", 1),
    (Fault(status=400, body=b'{"error": {"code": "content_filter"}}'), "refused", 1),
    (Fault(status=400, body=b'{"error": {"code": "context_length_exceeded"}}'), "too long", 1),
    (body("call", "tool_calls"), "ended otherwise", 1),
    (Fault(body=b"qwertz uiop"), r"a malformed answer: 11 bytes that are not JSON", 3),
    (Fault(body=b"<html><body>Welcome</body></html>"), "a malformed answer: .* not JSON", 3),
    (
        Fault(body=b'{"choices": [{"message": {"content": "hal'),
        "a malformed answer: .* not JSON",
        3,
    ),
    # What servers of other makers answer.
    *((error(*one), "too long", 1) for one in TOO_LONG.values()),
    *((error(status, value), became, n) for status, value, became, n in NOT_TOO_LONG.values()),
    (body(None, "stop"), "empty", 1),
    *((body(None, finish), "cut at the limit", 1) for finish in CUTS),
    *((body("half", finish), "cut at the limit", 1) for finish in CUTS),
    *((body(None, finish), "refused", 1) for finish in FILTERS),
    *((body(None, finish, tool_calls=[{"id": "1"}]), "ended otherwise", 1) for finish in OTHERS),
    *((body("fine", finish), "answered", 1) for finish in ENDS),
    (body([{"type": "thinking"}, {"type": "text", "text": "fine"}]), "answered", 1),
    *((body(f"{thought}fine"), "answered", 1) for thought in THOUGHT),
    (body("<think>hmm, so", "length"), "cut at the limit", 1),
    (body("hmm</think>"), "empty", 1),
    (body("fine", tokens=900, hidden=600), "answered", 1),
    (body("far too much", tokens=1200, hidden=600), "over the limit", 1),
    (error(200, {"error": {"code": 503, "message": "busy"}}), r"status 503 \(busy\)", 3),
    (error(200, {"error": "overloaded"}), r"status 200 \(overloaded\)", 3),
    *((Fault(status=status), f"status {status}", 3) for status in range(520, 525)),
    (Fault(headers={"Content-Encoding": "br"}), "packed in a way that was not asked for", 3),
    (Fault(headers={"Content-Encoding": "gzip"}), "cannot be unpacked", 3),
    (
        Fault(
            body=gzip.compress(b" " * (MOST_BYTES + 1), mtime=0),
            headers={"Content-Encoding": "gzip"},
        ),
        "more than 16,777,216 bytes, unpacked",
        3,
    ),
    (Fault(body=b" " * (MOST_BYTES + 1)), "more than 16,777,216 bytes", 3),
    (Fault(headers={"Content-Type": "application/json; charset=hex"}), "answered", 1),
    (Fault(body=b'{"choices": []}'), "a malformed answer: .*content is a NoneType", 3),
    (Fault(status=429), "status 429", 3),
    (Fault(status=500, body=b"<html>oops</html>"), r"status 500 \(<html>oops</html>\)", 3),
    (Fault(seconds=60), "ReadTimeout", 3),
    (Fault(drop=True), "RemoteProtocolError", 3),
    (Fault(half=True), "RemoteProtocolError", 3),
]


def test_every_answer_has_its_outcome(server, tmp_path):
    """All of them in one run: each is of one prompt, and stops no other."""
    ends = [(fault, became, times) for fault, became, times in BECAME if became in OUTCOMES]
    prompts = [Prompt.from_user(f"question {i}") for i in range(len(ends))]
    server.faults |= {f"question {i}": [fault] * 3 for i, (fault, _, _) in enumerate(ends)}
    with AnswerStore(tmp_path / "a.sqlite") as store:
        answers = Recording(store, backend(server, tries=3), progress=False).answer(prompts)
    times = [asked(server)[f"question {i}"] for i in range(len(ends))]
    found = zip([fault for fault, _, _ in ends], map(outcome_of, answers), times, strict=True)
    assert list(found) == ends
    assert set(OUTCOMES) == {became for _, became, _ in ends}


@pytest.mark.parametrize(
    ("fault", "says", "times"),
    [one for one in BECAME if one[1] not in OUTCOMES],
    ids=lambda value: str(value)[:80],
)
def test_every_bad_answer_has_its_name_and_stops_no_other(server, tmp_path, fault, says, times):
    server.faults["question 5"] = [fault] * 3
    live = backend(server, tries=3, timeout=1 if fault.seconds else 120)
    with AnswerStore(tmp_path / "a.sqlite") as store:
        with pytest.raises(MemreproError, match=rf"1 prompts have no answer, .*{says}") as error:
            Recording(store, live, progress=False).answer(PROMPTS)
        assert "\n" not in str(error.value)
        assert len(store) == 11
    assert asked(server)["question 5"] == times
    assert len(server.asked) == 11 + times


@pytest.mark.parametrize(
    ("said", "became"),
    [
        ("I am unable to provide the answer to", "declined"),
        ("As an AI language model, I cannot share personal data.", "declined"),
        ("Sorry for any confusion, but I won't do that", "declined"),
        ("Unfortunately, I must decline to answer.", "declined"),
        ("I'm sorry for the confusion. I'm here to help you.", "answered"),
        ("Not mentioned, so I cannot answer.", "answered"),  # it says first what is the case
        ("Tim said: I can't help you.", "answered"),
        ("I can't wait to share this!", "answered"),
        ("I cannot tell from the conversations.", "answered"),
    ],
)
def test_a_model_that_declines_in_its_own_words_has_a_name_of_its_own(said, became):
    assert outcome_of(Answer(said, 1, 1, 0.0, "m", "r", "stop", "")) == became
    cut = outcome_of(Answer(said, 1, 1, 0.0, "m", "r", "length", ""))
    assert cut == ("declined" if became == "declined" else "cut at the limit")


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
        server.faults["question 1"] = [Fault(status=500, body=echo), Fault(half=True)]
        server.faults["question 2"] = [Fault(status=400, body=echo)]
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


def test_a_key_or_an_address_that_cannot_be_sent_is_refused_and_not_shown(monkeypatch, server):
    for value in ("", "two words", f"{KEY}\nx", "schlüssel"):
        monkeypatch.setenv("TOY_KEY", value)
        with pytest.raises(MemreproError, match="environment variable TOY_KEY, which") as caught:
            ask(server, key_variable="TOY_KEY")
        assert not value or value not in whole_chain(caught.value)
    assert server.asked == []
    for url in (f"http://user:{KEY}@host/v1", f"https://host/v1?key={KEY}", f"ftp://{KEY}", None):
        with pytest.raises(MemreproError, match=r"url must be http\(s\)://<host>/<path>") as caught:
            Endpoint(url, IDENTITY)
        assert KEY not in whole_chain(caught.value)


ESCAPED = "".join(f"\\u{ord(c):04x}" for c in KEY)


@pytest.mark.parametrize("how", [KEY, ESCAPED], ids=["plain", "escaped"])
@pytest.mark.parametrize("where", ["content", "refusal", "finish_reason", "model", "id"])
def test_an_answer_that_holds_the_key_is_not_recorded(tmp_path, monkeypatch, how, where):
    monkeypatch.setenv("TOY_KEY", KEY)
    made = completion("fine", 1, 1)
    choice = made["choices"][0]
    holder = {"content": choice["message"], "refusal": choice["message"], "finish_reason": choice}
    if where == "refusal":
        choice["message"]["content"] = None
    holder.get(where, made)[where] = "your key is HERE"
    body = json.dumps(made).replace("HERE", how).encode()
    with serving(key=KEY) as server, AnswerStore(tmp_path / "a.sqlite") as store:
        server.faults["question 3"] = [Fault(body=body)]
        with pytest.raises(MemreproError, match=r"holds the API key, so it was not") as caught:
            Recording(store, backend(server, key_variable="TOY_KEY"), progress=False).answer(
                PROMPTS
            )
        assert len(store) == 11
        holds_no_key(tmp_path, whole_chain(caught.value))


@pytest.mark.parametrize("form", ["{}", '{"error": {"message": "{}"}}', '{"error": "for {}'])
def test_an_error_that_holds_the_key_escaped_does_not_show_it(monkeypatch, caplog, form):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TOY_KEY", KEY)
    with serving(key=KEY) as server:
        server.always = Fault(status=500, body=form.replace("{}", ESCAPED).encode())
        with pytest.raises(MemreproError, match="<TOY_KEY>") as caught:
            ask(server, PROMPTS[:1], key_variable="TOY_KEY", tries=2)
    for text in (whole_chain(caught.value), caplog.text):
        assert KEY not in text
        assert ESCAPED[:24] not in text.replace("\\\\", "\\")


def test_the_proxy_of_another_machine_is_named_without_its_password():
    live = Endpoint("http://models.test/v1", IDENTITY, pause=0.01, tries=1)
    with pytest.raises(
        MemreproError, match=r"models\.test/v1 by way of the proxy 127\.0\.0\.1:9, .*no connection"
    ) as caught:
        dict(live.stream(PROMPTS[:1]))
    assert KEY not in whole_chain(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_asked_without_the_proxy(server, host):
    url = server.url.replace("127.0.0.1", host)
    assert len(dict(Endpoint(url, IDENTITY, pause=0.01).stream(PROMPTS[:2]))) == 2


def test_a_proxy_that_is_none_is_one_sentence(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"gopher://user:{KEY}@proxy")
    monkeypatch.setenv("http_proxy", f"gopher://user:{KEY}@proxy")
    with pytest.raises(MemreproError, match=r"no client can be made .* the proxy proxy ") as caught:
        dict(Endpoint("http://models.test/v1", IDENTITY).stream(PROMPTS))
    assert KEY not in whole_chain(caught.value)


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
    error_of(400, body)
    try:
        answer = to_answer(body, IDENTITY, 0.1, 9)
    except (Broken, Erred):
        return
    assert answer.text.encode() is not None
    assert min(answer.tokens) >= 0
    assert max(map(len, (answer.finish_reason, answer.maker))) < 500


@given(st.binary(max_size=40))
def test_any_bytes_are_an_answer_or_broken(body):
    error_of(400, body)
    with pytest.raises((Broken, Erred)):
        to_answer(body, IDENTITY, 0.1, 9)


def test_deep_json_is_broken():
    body = b'{"choices": ' + b"[" * 200_000
    assert not error_of(400, body).names
    with pytest.raises(Broken):
        to_answer(body, IDENTITY, 0.1, 9)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("", 0), ("2", 2), ("0.5", 0.5), ("-3", 0), ("nan", 0), ("inf", 0), ("soon", 0),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)  # fmt: skip
def test_retry_after_is_read_with_care(header, seconds):
    assert seconds_to_wait(header) == seconds
