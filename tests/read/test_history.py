"""Which questions are asked and what of a history is shown: draws, budgets, sessions, facts."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.memory import Memory, Round
from memrepro.errors import MemreproError
from memrepro.evaluate.budgets import tokens_until
from memrepro.read.history import FACT, Histories, ranked, shown_of, within
from memrepro.read.plan import Condition, choose
from memrepro.read.prompts import Item, show
from memrepro.text.lengths import count_tokens

ITEMS = st.lists(st.text(max_size=60).map(lambda t: Item("", 0, (("user", t),))), max_size=8)


@given(ITEMS, st.integers(0, 120), st.sampled_from(["json", "text"]))
def test_never_more_tokens_than_allowed_and_the_least_relevant_go_first(items, tokens, form):
    kept = within(items, tokens, form)
    sizes = [count_tokens(show(item, len(items), form)) for item in items]
    run = pd.DataFrame({"query_id": ["q"] * len(items)})
    assert kept == (tokens_until(run["query_id"], np.array(sizes, np.int64)) <= tokens).sum()
    assert sum(sizes[:kept]) <= tokens
    assert kept == len(items) or sum(sizes[: kept + 1]) > tokens


@given(st.dictionaries(st.text(max_size=6), st.sampled_from("abc"), max_size=40), st.data())
def test_a_draw_has_each_kinds_share_to_less_than_one(kinds, data):
    count = data.draw(st.integers(0, len(kinds)))
    chosen = choose(kinds, count, 0)
    wanted = count or len(kinds)
    assert len(chosen) == wanted
    assert chosen == [one for one in kinds if one in set(chosen)]
    drawn = Counter(kinds[one] for one in chosen)
    for kind, size in Counter(kinds.values()).items():
        assert abs(drawn[kind] - wanted * size / len(kinds)) < 1


def test_a_draw_is_the_same_everywhere_and_another_seed_draws_others():
    kinds = {f"q{n}": "ab"[n % 2] for n in range(40)}
    assert choose(kinds, 6, 0) == ["q6", "q13", "q22", "q25", "q27", "q32"]
    assert choose(dict(reversed(kinds.items())), 6, 0) == choose(kinds, 6, 0)[::-1]
    assert choose(kinds, 6, 1) != choose(kinds, 6, 0)
    with pytest.raises(MemreproError, match="41 questions are asked for, and there are 40"):
        choose(kinds, 41, 0)


MEMORY = Memory.from_rounds(
    "m",
    ("s1", Round.from_texts("r1", user="old tea", assistant="old cup")),
    ("s1", Round.from_texts("r2", user="more tea", assistant="more cups")),
    ("s2", Round.from_texts("r3", user="new tea", assistant="new cup")),
    times={"s1": "2023-05-01T09:00", "s2": "2023-06-01T09:00"},
)
FACTS = Extractions.grouped(
    [
        Extraction(MEMORY.sessions[0].key, "r1", "nlp", "fact", "likes tea"),
        Extraction(MEMORY.sessions[0].key, "", "nlp", "summary", "on tea"),
    ]
)


def test_a_session_is_shown_turn_by_turn_and_people_by_their_names():
    names = {"m": {"user": "Ann"}}
    items = Histories("session", Extractions({}), names=names).items(MEMORY)
    assert items["s1"] == Item(
        "2023-05-01T09:00", 0,
        (("Ann", "old tea"), ("assistant", "old cup"),
         ("Ann", "more tea"), ("assistant", "more cups")),
    )  # fmt: skip
    assert items["s2"].place == 1


def test_facts_stand_beside_what_was_said_or_in_its_place_or_are_docs():
    beside = Histories("round", FACTS, "nlp-fact").items(MEMORY)
    assert beside["r1"].said == ((FACT, "likes tea"), ("user", "old tea"), ("assistant", "old cup"))
    assert beside["r3"].said == (("user", "new tea"), ("assistant", "new cup"))
    alone = Histories("round", FACTS, "nlp-fact", True).items(MEMORY)
    condition = Condition("d", "m", "open", run="x", granularity="round", facts="nlp-fact",
                          facts_only=True)  # fmt: skip
    shown = shown_of(condition, alone, ["r3", "r1"], "q")
    # Of r3 nothing was extracted: there is nothing to show in its place.
    assert [item.said for item in shown.items] == [((FACT, "likes tea"),)]
    assert shown.dropped == 0
    assert list(Histories("nlp-fact", FACTS).items(MEMORY)) == ["r1#nlp-fact-1"]


def test_the_whole_history_a_budget_and_a_doc_that_is_not_there():
    items = Histories("round", FACTS).items(MEMORY)
    whole = Condition("d", "m", "open", memory="whole", granularity="round")
    assert shown_of(whole, items, (), "q").items == tuple(items.values())
    room = count_tokens(show(items["r3"], 2, "text"))
    tight = Condition("d", "m", "open", run="x", granularity="round", history="text", tokens=room)
    shown = shown_of(tight, items, ["r3", "r1"], "q")
    assert (shown.items, shown.dropped) == ((items["r3"],), 1)
    with pytest.raises(MemreproError, match="of x for question q hold 'r9', which is no round"):
        shown_of(tight, items, ["r9"], "q")


def test_a_runs_best_docs_of_one_setting(tmp_path):
    path = tmp_path / "run.parquet"
    rows = [("0.3", "q", "a", 2), ("0.3", "q", "b", 1), ("0.7", "q", "c", 1), ("0.3", "q", "d", 3)]
    pd.DataFrame(rows, columns=["setting", "query_id", "doc_id", "rank"]).to_parquet(path)
    condition = Condition("d", "m", "open", run="x", setting="0.3", k=2)
    assert ranked(path, condition) == {"q": ["b", "a"]}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"memory": "run"}, "run ''"),
        ({"memory": "oracle"}, "granularity ''"),
        ({"memory": "none", "k": 3}, "k 3"),
        ({"memory": "none", "tokens": 3}, "tokens 3"),
        ({"memory": "none", "setting": "0.7"}, "setting '0.7'"),
        ({"memory": "none", "notes": "one", "answer": "short"}, "notes 'one'"),
        ({"memory": "none", "facts_only": True}, "facts_only True"),
        ({"memory": "none", "judge": "m", "answer": "letter"}, "judge 'm'"),
    ],
)
def test_settings_that_do_not_go_together_are_named(settings, said):
    with pytest.raises(MemreproError, match=f"somewhere has {said}: "):
        Condition(**({"dataset": "d", "model": "m", "answer": "open"} | settings)).check(
            "somewhere"
        )
