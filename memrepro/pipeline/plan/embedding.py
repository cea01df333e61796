"""How many texts and tokens a profile embeds, and how long its encoders take for them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memrepro.core.prepared import load
from memrepro.encode.encoder import EncoderIdentity, Role
from memrepro.encode.load import TokenCounter
from memrepro.encode.models import model_card
from memrepro.encode.placement import Placement, placement
from memrepro.encode.vectors import VectorStore, vector_key
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.progress import bar
from memrepro.pipeline.plan.stages import facts, measured
from memrepro.study.embedding import keys_to_embed, texts_to_embed
from memrepro.study.plan import Plan

COUNTED, BEFORE, ESTIMATED = "counted", "as last measured", "estimated"
_SPREAD = 1000  # texts whose tokens are counted, of each data set and encoder
_CHARACTERS = 4.4  # to a token: LoCoMo's rounds by MiniLM's tokenizer


@dataclass(frozen=True)
class Work:
    """What an encoder embeds of a data set.

    Attributes:
        profile: whose runs search it.
        dataset: of the texts.
        encoder: key of the encoder.
        texts: keys and queries, each once.
        cached: how many of them have vectors, or get them with a data set before; None where the
            texts are not known yet.
        tokens: that the encoder reads of those that are left.
        source: COUNTED, BEFORE or ESTIMATED.
    """

    profile: str
    dataset: str
    encoder: str
    texts: int
    cached: int | None
    tokens: int
    source: str

    @property
    def left(self) -> int:
        """Texts to embed."""
        return self.texts - (self.cached or 0)


def identity(encoder: str, device: str) -> EncoderIdentity:
    """Under which an encoder's vectors are kept, without loading it."""
    card = model_card(encoder)
    on_gpu = Placement((device,), "torch", card.dtype)
    return (on_gpu if device == "cuda" else placement(card, 0, [])).identity(card)


def works_of(
    jobs: Iterable[tuple[str, str]], plan: Plan, device: str, present: Sequence[str], store: Path
) -> list[Work]:
    """The work of the stages that embed these data sets of these profiles, in order.

    Args:
        jobs: profile and data set.
        plan: of params.yaml.
        device: 'cpu' or 'cuda', which is in the vectors' identity.
        present: the encoders whose files are here, so that their tokenizers count.
        store: the file of vectors; it need not be there.
    """
    wanted, seen = keys_to_embed(plan), set[bytes]()
    found = []
    for profile, dataset in jobs:
        folder = paths.prepared(dataset)
        here = load(folder, dataset) if (folder / "haystacks.parquet").is_file() else None
        for encoder, levels in wanted[profile][dataset].items():
            cached: int | None = None
            if here:
                counter = TokenCounter(encoder) if encoder in present else None
                texts, source = texts_to_embed(here, levels), COUNTED
                count, cached, tokens = _counted(texts, encoder, device, counter, seen, store)
            elif before := _before(profile, dataset, encoder):
                count, tokens, source = before["texts"], before["tokens"], BEFORE
            else:
                count, tokens = _estimated(dataset, levels, model_card(encoder).maximum_length)
                source = ESTIMATED
            found.append(Work(profile, dataset, encoder, count, cached, tokens, source))
    return found


def _counted(
    texts: dict[Role, list[str]], encoder: str, device: str, counter: TokenCounter | None,
    seen: set[bytes], store: Path,
) -> tuple[int, int, int]:  # fmt: skip
    """Texts, those that have vectors, and the tokens of the others; `seen` takes their keys."""
    card, own = model_card(encoder), identity(encoder, device)
    by_key = {}
    # A million texts take a minute.
    with bar(sum(map(len, texts.values())), f"memrepro: texts for {encoder}", "text") as progress:
        for role, some in texts.items():
            for text in some:
                by_key[vector_key(own, role, card.prompts[role], text)] = text
                progress.update()
    left = [key for key in by_key if key not in seen]
    seen.update(left)
    if store.is_file():
        with VectorStore(store) as vectors:
            left = vectors.missing(left)
    spread = [
        by_key[left[n]] for n in np.linspace(0, len(left) - 1, min(_SPREAD, len(left))).astype(int)
    ]
    tokens = counter.counts(spread) if counter else [2 + len(t) / _CHARACTERS for t in spread]
    mean = float(np.minimum(tokens, card.maximum_length).mean()) if spread else 0.0
    return len(by_key), len(by_key) - len(left), round(mean * len(left))


def _before(profile: str, dataset: str, encoder: str) -> dict[str, Any] | None:
    """What was counted when the profile was measured with an empty cache."""
    rows = [row for entry in measured().values() for row in entry.get("embedded", [])]
    mine = (profile, dataset, encoder)
    return next((r for r in rows if (r["profile"], r["dataset"], r["encoder"]) == mine), None)


def _estimated(dataset: str, levels: dict[str, str], limit: int) -> tuple[int, int]:
    """Texts and tokens of a data set that is not here, by the growth of key schemes elsewhere."""
    if (known := facts()["expected"].get(dataset)) is None:
        raise MemreproError(
            f"the data set {dataset!r} is neither prepared nor described in facts.yaml: prepare it "
            "first, or add what is known of it there"
        )
    texts, tokens = map(float, known["queries"])
    tokens *= texts
    for level, schemes in levels.items():
        for scheme in schemes.split():
            base, change = _parts(scheme)
            base = base or next(iter(known[level]))
            if base not in known[level]:  # such as fields, which are the texts of other schemes
                continue
            count, mean = known[level][base]
            # What was never measured at this level is taken to embed as much again.
            more, growth = _growth().get((level, change), (1.0, 1.0))
            texts += count * more
            tokens += count * more * min(limit, mean * growth / more if more else 0.0)
    return round(texts), round(tokens)


def _parts(scheme: str) -> tuple[str, str]:
    """A key scheme's base, and what it does with it whatever the extraction's source.

    `user_only+merge:nlp-fact` is ('user_only', '+merge:fact'); a tiered scheme has no base.
    """
    found = re.fullmatch(r"([\w-]*)((?:\+|tiers:).*)?", scheme)
    assert found
    return found[1], re.sub(r"([:&])[a-z]+-", r"\1", found[2] or "")


@cache
def _growth() -> dict[tuple[str, str], tuple[float, float]]:
    """By granularity and change: new texts and their tokens, each as a share of the base's.

    From all committed `key_sizes.csv`; LoCoMo's, which people wrote, before the sample's.
    """
    tables = [
        pd.read_csv(path)
        for dataset, profile in facts()["growth"]["datasets"].items()
        for path in sorted((paths.results(profile) / "runs").glob(f"{dataset}-*/key_sizes.csv"))
    ]
    rows = pd.concat(tables, ignore_index=True)
    rows = rows[rows["encoder"] == facts()["growth"]["encoder"]]
    rows[["base", "change"]] = [_parts(scheme) for scheme in rows["key_scheme"]]
    plain = rows[(rows["change"] == "") & rows["base"].isin(["concat", "user_only"])]
    plain = plain.drop_duplicates(["dataset", "granularity", "base"])
    usual = plain.drop_duplicates("dataset").set_index("dataset")["base"]
    rows["base"] = rows["base"].where(rows["base"] != "", rows["dataset"].map(usual))
    both = rows.merge(plain, on=["dataset", "granularity", "base"], suffixes=("", "_of_base"))
    # What these keep of the base is embedded with it.
    kept = both["change"].str.contains("separate|graph").astype(int)
    for name in ("texts", "tokens"):
        both[name] = (both[name] / both[f"{name}_of_base"] - kept).clip(lower=0)
    keys = zip(both["granularity"], both["change"], strict=True)
    return dict(zip(keys, zip(both["texts"], both["tokens"], strict=True), strict=True))


def seconds(work: Work, device: str) -> float:
    """How long an encoder takes on 'cpu' or 'cuda': two operations a weight and token.

    On a CPU at the rate that it was measured at; on a GPU at an assumed share of an assumed one's.
    """
    operations = _operations(work.encoder, work.tokens)
    if device == "cuda":
        return operations / float(facts()["share"]["cuda"] * facts()["gpu"]["rate"])
    return operations / _rate(work.encoder)


def _operations(encoder: str, tokens: int) -> float:
    return float(2 * facts()["encoders"][encoder]["weights"] * tokens)


def _rate(encoder: str) -> float:
    """Operations a second that an encoder reached on a CPU, in the mean of the measurements.

    One that was not measured is taken for the mean of those that were, by torch a little less.
    """
    found = [
        (name, _operations(name, tokens) / seconds_)
        for entry in measured().values()
        for name, seconds_ in entry["encoded"].items()
        if (tokens := sum(row["tokens"] for row in entry["embedded"] if row["encoder"] == name))
    ]
    mine = [one for one in found if one[0] == encoder] or found
    slower = 1.0
    if mine is found and placement(model_card(encoder), 0, []).runtime == "torch":
        slower = facts()["share"]["torch"]
    return float(np.mean([rate for _, rate in mine])) * slower


def vector_bytes(work: Work) -> int:
    """What the vectors take on disk: all in a table, those that are new in the cache too."""
    return 4 * model_card(work.encoder).dimension * (work.texts + work.left)
