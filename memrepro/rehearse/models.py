"""Tiny random models of each encoder's true architecture, with every file that its entry names.

A model has its real type, tokenizer class, pooling, head, end token and special tokens; its one
layer has 64 entries, and its tokenizer is trained on this project's own words. Stella's head gives
the true 1,024 entries; elsewhere `registry.rewritten` states the 64 (32 where vectors are cut).

No encoder runs code from the hub (`encode/models.py`): the configurations here name remote code as
Stella's and gte's do on the hub, nothing fetches it, and an entry that lists a `.py` is refused.
"""

import hashlib
import json
import re
import string
from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import log
from pathlib import Path
from random import Random
from typing import Any

from memrepro.encode.models import ModelCard, registry
from memrepro.errors import MemreproError
from memrepro.files import atomic
from memrepro.rehearse.prose import Prose

HIDDEN, VOCABULARY, MOST_PIECES = 64, 3000, 2500
_SIZES = {
    "hidden_size": HIDDEN,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "initializer_range": 0.3,  # so large that texts differ in every token's state
}
# What an encoder's name begins with → its architecture in transformers.
ARCHITECTURES = {
    "all-minilm": "Bert", "all-mpnet": "MPNet", "multi-qa-minilm": "Bert", "bge-base": "Bert",
    "contriever": "Bert", "e5": "Bert", "bge-m3": "XLMRoberta", "nomic": "NomicBert",
    "stella": "Qwen2", "gte-qwen2": "Qwen2",
}  # fmt: skip
# Tokens that open, close, fill, hide and stand for the unknown.
_TOKENS = ("cls_token", "sep_token", "pad_token", "mask_token", "unk_token")
_BERT = ("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]")
_SPECIAL = {
    "Bert": _BERT,
    "NomicBert": _BERT,
    "MPNet": ("<s>", "</s>", "<pad>", "<mask>", "[UNK]"),
    "XLMRoberta": ("<s>", "</s>", "<pad>", "<mask>", "<unk>"),
    "Qwen2": ("", "<|endoftext|>", "<|endoftext|>", "", "<|endoftext|>"),
}
_TOKENIZERS = {"NomicBert": "BertTokenizer"}
_REMOTE = {"AutoModel": "modeling_qwen.Qwen2Model"}


def write_models(folder: Path, seed: int = 17) -> None:
    """Write each encoder of the registry to `folder/<its name>`.

    Entries of one repository are alike.

    Raises:
        MemreproError: if an entry names a file that no architecture here has, or a file cannot be
            written.
    """
    for name, card in registry().items():
        kind = architecture(name)
        found = _files(card, kind, seed)
        if missing := [path for path in card.files if path not in found]:
            raise MemreproError(
                f"encoder {name!r} has the file {missing[0]!r}, which a rehearsed "
                f"{kind} lacks: it has {', '.join(sorted(found))}"
            )
        for path in card.files:
            with atomic.replacing(folder / name / path) as temporary:
                temporary.write_bytes(found[path])


def architecture(name: str) -> str:
    """The architecture of an encoder, as transformers' classes have it.

    Raises:
        MemreproError: if none is known.
    """
    for stem, kind in ARCHITECTURES.items():
        if name.startswith(stem):
            return kind
    raise MemreproError(
        f"encoder {name!r} has no architecture in rehearse/models.py: name it there"
    )


def _files(card: ModelCard, kind: str, seed: int) -> dict[str, bytes]:
    """Every file that a model of that kind may have."""
    import sentence_transformers.sentence_transformer.modules as layers
    import torch
    from safetensors.torch import save

    source = card.source.get("repository", card.name)
    number = int.from_bytes(hashlib.sha256(f"{seed} {source}".encode()).digest()[:7], "big")
    tokenizer = _tokenizer(kind, seed)
    tokens = dict(zip(_TOKENS, _SPECIAL[kind], strict=True))
    if kind == "Qwen2":
        tokens = {"eos_token": tokens["sep_token"], "pad_token": tokens["pad_token"]}
    named: dict[str, Any] = {"tokenizer_class": _TOKENIZERS.get(kind, f"{kind}Tokenizer"), **tokens}
    if card.end_token:
        named["add_eos_token"] = True
    with torch.random.fork_rng():
        torch.manual_seed(number)
        config, weights = _model(card, kind, json.loads(tokenizer))
        found = {
            **_weights(weights, card.files),
            "config.json": _json(config),
            "tokenizer.json": tokenizer,
            "tokenizer_config.json": _json(named),
            "special_tokens_map.json": _json(tokens),
            "modules.json": _json(_MODULES),
            "sentence_bert_config.json": _json({"max_seq_length": card.maximum_length}),
            "config_sentence_transformers.json": _json({"prompts": {}}),
            "1_Pooling/config.json": _settings(layers.Pooling(HIDDEN, card.pooling)),
        }
        if kind in ("Bert", "NomicBert", "MPNet"):
            vocabulary = json.loads(tokenizer)["model"]["vocab"]
            found["vocab.txt"] = "\n".join(sorted(vocabulary, key=vocabulary.__getitem__)).encode()
        if card.head:
            linear = torch.nn.Identity()
            head = layers.Dense(HIDDEN, card.dimension, activation_function=linear)
            found[f"{card.head}/config.json"] = _settings(head)
            found[f"{card.head}/model.safetensors"] = save(head.state_dict())
    return found


_MODULES = [
    {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
    for n, (path, kind) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling")))
]


def _model(card: ModelCard, kind: str, tokenizer: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The configuration of a random model, and its weights by name."""
    import transformers

    sizes = _SIZES | {"vocab_size": VOCABULARY}
    if kind == "Qwen2":
        sizes |= {"num_key_value_heads": 1}
    elif kind != "NomicBert":  # XLM-RoBERTa and MPNet count positions from 2
        sizes |= {"max_position_embeddings": card.maximum_length + 2}
    config = getattr(transformers, f"{kind}Config")(**sizes)
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    begin, end, fill, *_ = _SPECIAL[kind]
    config.bos_token_id, config.eos_token_id = added[begin or end], added[end]
    if fill != end:  # a token that fills has no direction, and the end token needs one
        config.pad_token_id = added[fill]
    model = getattr(transformers, f"{kind}Model")(config)
    said = json.loads(config.to_json_string(use_diff=False))
    said["architectures"] = [f"{kind}Model"]
    if kind == "Qwen2":
        said["auto_map"] = _REMOTE
    return said, model.state_dict()


def _weights(weights: Any, names: Any) -> dict[str, bytes]:
    """The weights as one file, or as the shards that are named, with their index."""
    from safetensors.torch import save

    def saved(keys: list[str]) -> bytes:
        return save({key: weights[key].contiguous() for key in keys}, {"format": "pt"})

    shards = sorted(name for name in names if re.fullmatch(r"model-\d+-of-\d+\.safetensors", name))
    if not shards:
        return {"model.safetensors": saved(list(weights))}
    places = {key: shards[n % len(shards)] for n, key in enumerate(weights)}
    index = {"metadata": {}, "weight_map": places}
    return {"model.safetensors.index.json": _json(index)} | {
        shard: saved([key for key, place in places.items() if place == shard]) for shard in shards
    }


def _settings(layer: Any) -> bytes:
    return _json(layer.get_config_dict())


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


@cache
def _tokenizer(kind: str, seed: int) -> bytes:
    """A `tokenizer.json` of that architecture's kind: word pieces, unigrams, or pairs of bytes."""
    from tokenizers import (
        ByteLevelBPETokenizer,
        Tokenizer,
        decoders,
        models,
        normalizers,
        processors,
    )
    from tokenizers import pre_tokenizers as cut

    begin, end, fill, hide, unknown = _SPECIAL[kind]
    special = list(dict.fromkeys(token for token in (begin, fill, end, unknown, hide) if token))
    tokenizer: Any
    if kind == "Qwen2":
        # The trainer of pairs of bytes gives the same each time; those of the other two do not.
        tokenizer = ByteLevelBPETokenizer()
        tokenizer.train_from_iterator(
            _corpus(seed), vocab_size=VOCABULARY, show_progress=False, special_tokens=special
        )
        return str(tokenizer.to_str()).encode()
    if kind == "XLMRoberta":
        scored = [(token, 0.0) for token in special]
        scored += [(piece, -round(log(n), 6)) for n, piece in enumerate(_pieces(seed, "▁", ""), 9)]
        tokenizer = Tokenizer(models.Unigram(scored, special.index(unknown), False))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.NFKC(), cut.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
    else:
        ids = {piece: n for n, piece in enumerate([*special, *_pieces(seed, "", "##")])}
        tokenizer = Tokenizer(models.WordPiece(ids, unk_token=unknown))
        tokenizer.normalizer, tokenizer.pre_tokenizer = (
            normalizers.BertNormalizer(),
            cut.BertPreTokenizer(),
        )
        tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} $B {end}",
        special_tokens=[(token, special.index(token)) for token in (begin, end)],
    )
    return str(tokenizer.to_str()).encode()


def _pieces(seed: int, first: str, later: str) -> list[str]:
    """Words, ends of words and letters, the most frequent first.

    `first` marks a piece that begins a word, `later` one that goes on with it.
    """
    words = Counter(re.findall(r"\w+|[^\w\s]", " ".join(_corpus(seed)).lower()))
    ends = Counter({word[n:]: count for word, count in words.items() for n in range(1, len(word))})
    letters = sorted({*string.printable.strip(), *"".join(words)})
    counted = Counter({first + word: count for word, count in words.items()})
    counted += Counter({later + part: count for part, count in ends.items() if len(part) < 4})
    found = sorted(counted, key=lambda piece: (-counted[piece], piece))[:MOST_PIECES]
    return list(dict.fromkeys(found + [mark + one for one in letters for mark in (first, later)]))


def _corpus(seed: int) -> Iterator[str]:
    rng = Random(f"memrepro rehearsal of tokenizers {seed}")
    for number in range(400):
        yield Prose(rng).text(("user", "assistant")[number % 2], 1000)
