"""A language model from its entry in the parameters."""

import pytest

from memrepro.errors import MemreproError
from memrepro.llm.choose import backend, identity, language_model
from memrepro.llm.endpoint import Endpoint
from memrepro.llm.model import ModelIdentity, Prompt
from memrepro.llm.recorded import Recorded, Recording
from memrepro.llm.records import AnswerStore
from memrepro.llm.request import Request
from memrepro.llm.weights import folder_digest
from tests.llm.server import serving
from tests.llm.tiny import make_model

ENTRY = {"model": "m", "revision": "1"}


def test_replayed_by_default_and_live_where_asked(tmp_path):
    with serving() as server, AnswerStore(tmp_path / "a.sqlite") as store:
        entry = ENTRY | {"endpoint": {"url": server.url, "concurrency": 2, "token_budget": 10**6}}
        replay = language_model("toy", entry, store, "e")
        assert isinstance(replay, Recorded)
        with pytest.raises(MemreproError, match="1 of 1 answers"):
            replay.answer([Prompt.from_user("q")])
        live = language_model("toy", entry, store, "e", live=True)
        assert isinstance(live, Recording)
        assert live.answer([Prompt.from_user("q")]) == replay.answer([Prompt.from_user("q")])
        # Other settings of the same model replay the same answers.
        assert language_model("toy", ENTRY, store, "e").answer([Prompt.from_user("q")])[0].text


def test_a_model_in_process(tmp_path):
    folder = make_model(tmp_path / "tiny")
    revision = f"{folder_digest(folder)} float32"
    entry = {"model": "tiny", "revision": revision, "transformers": {"folder": str(folder)}}
    assert backend("tiny", entry).identity == identity("tiny", entry)
    with pytest.raises(MemreproError, match="is expected"):
        backend("tiny", entry | {"revision": "other"})


def test_an_endpoint_is_made_as_it_is_written():
    own = {"url": "http://h/v1/", "key_variable": "K", "tries": 2, "timeout": 5}
    made = backend("toy", ENTRY | {"endpoint": own})
    assert made == Endpoint("http://h/v1", ModelIdentity("m", "1"), "K", tries=2, timeout=5)
    # Another request is another model's answers, with and without the endpoint.
    asked = ENTRY | {"request": {"reasoning": 4000, "fields": {"seed": None}}}
    made = backend("toy", asked | {"endpoint": own})
    assert made.request == Request(reasoning=4000, fields={"seed": None})
    assert made.identity == identity("toy", asked) != identity("toy", ENTRY)


def test_an_entry_without_a_backend_can_only_be_replayed():
    assert identity("toy", ENTRY) == ModelIdentity("m", "1")
    with pytest.raises(MemreproError, match="it can only be replayed"):
        backend("toy", ENTRY)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (None, "language model toy is None: it must be a mapping"),
        ({"revision": "1"}, "toy: model is None: give a text"),
        ({"model": "m", "revision": 7}, "toy: revision is 7: give a text"),
        (ENTRY | {"url": "x"}, "toy has the unknown key 'url': known are endpoint, live, model"),
        (ENTRY | {"endpoint": {}}, "toy.endpoint lacks the key 'url'"),
        (ENTRY | {"endpoint": {"url": "x", "api_key": "y"}}, "unknown key 'api_key'"),
        (ENTRY | {"endpoint": {"url": "x"}, "transformers": {"folder": "f"}}, "both"),
        (ENTRY | {"transformers": {"repository": "r"}}, "must name a folder, a wheel, or"),
        (ENTRY | {"transformers": {"folder": "f", "trust_remote_code": True}}, "unknown key"),
        (ENTRY | {"transformers": {"folder": "f"}, "request": {}}, "transformers and a request"),
        (ENTRY | {"request": {"limit": "most"}}, r"toy\.request\.limit is 'most': input should be"),
        (ENTRY | {"request": {"reasoning": -1}}, r"toy\.request\.reasoning is -1: input should be"),
        (ENTRY | {"request": {"seed": 1}}, "request has the unknown key 'seed': known are limit"),
        (ENTRY | {"transformers": "f"}, "toy.transformers is 'f': it must be a mapping"),
    ],
)
def test_an_entry_that_is_not_so_is_refused(entry, why):
    with pytest.raises(MemreproError, match=why):
        identity("toy", entry)
