"""Every encoder of the registry on a tiny random model of its architecture, against torch by hand.

The weights are drawn from the seed `SEED`, the folder is laid out as on the hub, and the card is
the registry's own but for the sizes: what is tested is each entry's settings and their loading.
"""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModel,
    BertConfig,
    BertModel,
    NomicBertConfig,
    NomicBertModel,
    Qwen2Config,
    Qwen2Model,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from memrepro.encode.encoder import EncoderIdentity
from memrepro.encode.load import placed_encoder
from memrepro.encode.models import model_card, registry
from memrepro.encode.placement import Placement, placement
from memrepro.encode.vectors import vector_key
from memrepro.errors import MemreproError

SEED = 20240601
HIDDEN, LENGTH, HEAD = 32, 24, 20
LONG = "the cat sat on a mat and slept while rain fell over hills of green moss"
WORDS = sorted(set(LONG.split()))
TEXTS = ["the cat sat", "rain", "", LONG, f"{LONG} {LONG} {LONG}", "a mat over the hills"]
SIZES = {
    "hidden_size": HIDDEN, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "vocab_size": 400,
}  # fmt: skip
# Each architecture's class, and its own settings; positions as many as the tests' tokens need.
KINDS = {
    "bert": (BertModel, BertConfig(**SIZES, max_position_embeddings=LENGTH)),
    "xlm": (XLMRobertaModel, XLMRobertaConfig(**SIZES, max_position_embeddings=LENGTH + 2)),
    "qwen2": (Qwen2Model, Qwen2Config(**SIZES, num_key_value_heads=2)),
    # Fewer positions than tokens, as nomic's 2048 to 8192.
    "nomic": (NomicBertModel, NomicBertConfig(**SIZES, max_position_embeddings=8)),
}
KIND_OF = {
    "all-minilm-l6-v2": "bert", "multi-qa-minilm-l6-cos-v1": "bert", "bge-base-en-v1.5": "bert",
    "contriever": "bert", "e5-small-v2": "bert", "e5-base-v2": "bert", "bge-m3": "xlm",
    "nomic-embed-text-v1.5": "nomic", "nomic-embed-text-v1.5-f16": "nomic",
    "stella-en-1.5b-v5": "qwen2", "stella-en-1.5b-v5-s2p": "qwen2",
    "gte-qwen2-7b-instruct": "qwen2", "gte-qwen2-7b-instruct-longmemeval": "qwen2",
}  # fmt: skip


def make_tokenizer(folder, kind, end_token):
    """Letters and words by greedy longest match, with the architecture's special tokens."""
    special = {"qwen2": ["<unk>", "<|endoftext|>"], "xlm": ["<s>", "<pad>", "</s>", "<unk>"]}.get(
        kind, ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    )
    letters = [chr(c) for c in range(33, 127)]
    pieces = [*special, *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    unknown = next(token for token in special if "unk" in token.lower())
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    first, last = {"xlm": ("<s>", "</s>")}.get(kind, ("[CLS]", "[SEP]"))
    if kind != "qwen2":
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}",
            special_tokens=[(token, vocabulary[token]) for token in (first, last)],
        )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": unknown}
    config["pad_token"] = special[1] if kind in {"qwen2", "xlm"} else special[0]
    if kind == "qwen2":
        # As gte's: remote code is named, which nothing here may run.
        config |= {"eos_token": "<|endoftext|>", "add_eos_token": end_token}
        config["auto_map"] = {"AutoTokenizer": ["tokenization_evil.X", "tokenization_evil.X"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return tokenizer, vocabulary


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Name → (the entry's card in tiny sizes, its folder)."""
    monkeypatch.setenv("MEMREPRO_CACHE", str(tmp_path / "cache"))

    def make(name, **changes):
        card, kind = model_card(name), KIND_OF[name]
        sizes = {"dimension": HEAD if card.head else HIDDEN, "maximum_length": LENGTH}
        if card.truncate_to:
            sizes |= {"dimension": 12, "truncate_to": 12}
        card = replace(card, **(sizes | changes))
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        build, config = KINDS[kind]
        torch.manual_seed(SEED)
        model = build(config)
        for parameter in model.parameters():
            # Norms and biases too: a layer that starts as the identity would test nothing.
            torch.nn.init.normal_(parameter, 0.1, 0.4)
        model.save_pretrained(folder)
        raw = json.loads((folder / "config.json").read_text())
        raw["auto_map"] = {"AutoModel": "modeling_evil.X", "AutoConfig": "modeling_evil.Y"}
        (folder / "config.json").write_text(json.dumps(raw))
        make_tokenizer(folder, kind, card.end_token)
        if card.head:
            make_head(folder / card.head)
        return card, folder

    return make


def make_head(folder, stated=HIDDEN, real=HIDDEN, activation="linear.Identity"):
    folder.mkdir(exist_ok=True)
    torch.manual_seed(SEED + 1)
    weights = {"linear.weight": torch.randn(HEAD, real), "linear.bias": torch.randn(HEAD)}
    save_file(weights, folder / "model.safetensors")
    config = {"in_features": stated, "out_features": HEAD, "bias": True}
    config["activation_function"] = f"torch.nn.modules.{activation}"
    (folder / "config.json").write_text(json.dumps(config))


def load(card, folder, runtime="torch"):
    return placed_encoder(card, folder, Placement(runtime=runtime))


def token_ids(card, folder, text):
    """A text's ids: cut to the maximum, its end token kept."""
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids
    end = 1 if card.end_token else ids[-1]
    if card.end_token:
        ids = [*ids, end]
    return ids if len(ids) <= LENGTH else [*ids[: LENGTH - 1], end]


def by_hand(card, folder, texts):
    """Each text's vector: the formulas of `encoders.yaml` written out, without padding."""
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    head = load_file(folder / card.head / "model.safetensors") if card.head else {}
    vectors = []
    for text in texts:
        ids = torch.tensor([token_ids(card, folder, text)])
        # Eager attention adds a four-dimensional mask as it is: zeros hide nothing.
        mask = torch.zeros(1, 1, ids.shape[1], ids.shape[1]) if card.bidirectional else None
        with torch.no_grad():
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state[0]
        one = {"mean": states.mean(0), "cls": states[0], "lasttoken": states[-1]}[card.pooling]
        if card.head:
            one = head["linear.weight"] @ one + head["linear.bias"]
        if card.layer_norm:
            one = (one - one.mean()) / torch.sqrt(one.var(correction=0) + 1e-5)
        one = one[: card.dimension]
        vectors.append(one / one.norm() if card.normalise else one)
    return torch.stack(vectors).numpy()


@pytest.mark.parametrize("name", KIND_OF)
def test_an_entry_is_the_formula_it_states(tiny, name):
    card, folder = tiny(name)
    encoder = load(card, folder)
    for role in ("query", "document"):
        got = encoder.encode(TEXTS, role)
        want = by_hand(card, folder, [model_card(name).prompts[role] + text for text in TEXTS])
        np.testing.assert_allclose(got, want, atol=1e-5)
    assert (np.abs(encoder.encode(TEXTS, "query") - got).max() > 1e-3) == (
        card.prompts["query"] != card.prompts["document"]
    )
    lengths = np.linalg.norm(got, axis=1)
    assert np.allclose(lengths, 1, atol=1e-5) == card.normalise


# One entry of each architecture, pooling and head; absolute positions are padded on one side.
@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("all-minilm-l6-v2", "right"), ("bge-base-en-v1.5", "right"), ("bge-m3", "right"),
        *itertools.product(
            ("nomic-embed-text-v1.5", "stella-en-1.5b-v5", "gte-qwen2-7b-instruct"),
            ("right", "left"),
        ),
    ],
)  # fmt: skip
def test_batch_and_padding_do_not_matter(tiny, name, side):
    card, folder = tiny(name, padding_side=side)
    encoder = load(card, folder)
    assert encoder._models[0].tokenizer.padding_side == side
    together = encoder.encode(TEXTS, "document")
    alone = np.vstack([encoder.encode([text], "document") for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_attention_is_causal_only_where_the_entry_says_so(tiny):
    # A change of the last word moves the mean of the states before it only without the mask.
    card, folder = tiny("gte-qwen2-7b-instruct", end_token=False, pooling="cls")
    both = load(card, folder)
    causal = load(replace(card, bidirectional=False), folder)
    for texts in (["the cat sat", "the cat slept"], ["the cat sat", "the cat slept", "a " * 9]):
        first, second = causal.encode(texts, "document")[:2]
        np.testing.assert_allclose(first, second, atol=1e-6)
        first, second = both.encode(texts, "document")[:2]
        assert np.abs(first - second).max() > 1e-3


def test_openvino_refuses_recipes_and_architectures_that_it_does_not_know(tiny):
    card, folder = tiny("stella-en-1.5b-v5")
    assert placement(card, 0, []).runtime == "torch"
    plain, qwen = tiny("gte-qwen2-7b-instruct", bidirectional=False, end_token=False, pooling="cls")
    plain = replace(plain, padding_side="right")
    assert plain.recipe == "cls"
    for one, where in ((card, folder), (plain, qwen)):
        with pytest.raises(MemreproError, match=r"'qwen2' with .* use runtime='torch'"):
            load(one, where, "openvino")


def test_a_head_must_fit(tiny):
    card, folder = tiny("stella-en-1.5b-v5")
    head = folder / card.head
    make_head(head, stated=HIDDEN + 1, real=HIDDEN + 1)
    with pytest.raises(MemreproError, match=r"2_Dense_1024 takes 33 entries.*transformer's 32"):
        load(card, folder)
    make_head(head, real=HIDDEN + 1)
    with pytest.raises(MemreproError, match=r"2_Dense_1024 have another shape.*size mismatch"):
        load(card, folder)
    make_head(head, activation="activation.Tanh")
    with pytest.raises(MemreproError, match=r"with Tanh; .*be linear"):
        load(card, folder)
    make_head(head)
    with pytest.raises(MemreproError, match=r"end in 20 entries, and encoders\.yaml says 21"):
        load(replace(card, dimension=21), folder)
    (head / "model.safetensors").unlink()
    with pytest.raises(MemreproError, match=r"2_Dense_1024/model\.safetensors: it is missing"):
        load(card, folder)


def test_weights_of_another_model_are_refused(tiny):
    card, folder = tiny("e5-small-v2")
    weights = load_file(folder / "model.safetensors")
    lacking = {key: value for key, value in weights.items() if "pooler" not in key}
    save_file(lacking, folder / "model.safetensors", {"format": "pt"})
    load(card, folder)
    del lacking["encoder.layer.1.output.dense.weight"]
    save_file(lacking, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(
        MemreproError, match=r"lack 1 tensors of a BertModel, first encoder.layer.1"
    ):
        load(card, folder)
    short = {key: value[:-1] if "word_emb" in key else value for key, value in weights.items()}
    save_file(
        {k: v.clone() for k, v in short.items()}, folder / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(MemreproError, match="do not fit its config"):
        load(card, folder)


def test_no_two_settings_share_a_vector():
    card = model_card("stella-en-1.5b-v5")
    changes = {
        "name": ["other"], "revision": ["c" * 40], "maximum_length": [256],
        "pooling": ["cls", "lasttoken"], "normalise": [False], "head": [None, "2_Dense_256"],
        "layer_norm": [True], "truncate_to": [64, 128], "bidirectional": [False],
        "end_token": [False], "padding_side": ["left"],
        "prompts": [{"query": "q: ", "document": ""}],
    }  # fmt: skip
    single = [{key: value} for key, values in changes.items() for value in values]
    pairs = [a | b for a, b in itertools.combinations(single, 2) if set(a).isdisjoint(b)]
    cards = [replace(card, **change) for change in [{}, *single, *pairs]]
    keys = {key_of(card) for card in cards}
    assert len(keys) == len(cards) == 1 + len(single) + len(pairs)
    assert len({key_of(card) for card in registry().values()}) == len(registry())


def key_of(card):
    identity = EncoderIdentity(
        card.name, card.revision, card.maximum_length, card.recipe, card.normalise,
        "float32", "torch x cpu",
    )  # fmt: skip
    return vector_key(identity, "query", card.prompts["query"], "hello")


def test_every_entry_is_tested_here():
    # all-mpnet-base-v2 is tested with its real weights, where they are (test_models); `-bf16` is
    # the same model in another precision.
    others = {name for name in registry() if name.endswith("-bf16")}
    assert set(KIND_OF) == set(registry()) - others - {"all-mpnet-base-v2"}
