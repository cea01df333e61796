"""finetune_associa: tune Associa's deliberating model on CoQA (§4.2.2, Appendix A); needs a GPU.

Two steps, so that a reader sees the examples before they are learnt: `build_examples` and `tune`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.encode.load import load_encoder
from memrepro.encode.models import cache_folder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.files.atomic import read_yaml, root, write_table
from memrepro.llm.choose import language_model
from memrepro.llm.records import AnswerStore
from memrepro.llm.weights import hub_folder
from memrepro.papers.associa.llm import deliberator
from memrepro.papers.associa.tuning.coqa import read_coqa
from memrepro.papers.associa.tuning.examples import build, read_examples, write_examples
from memrepro.papers.associa.tuning.lora import Base, fine_tune, merge_adapter
from memrepro.papers.associa.tuning.samples import Recipe
from memrepro.papers.associa.tuning.training import Settings
from memrepro.study.params import build_entry, named
from memrepro.study.result import StageResult


@dataclass(frozen=True)
class Tuning:
    """An entry of `tuning` in params.yaml.

    Attributes:
        paper: the document whose module this is.
        file: CoQA's, relative to the repository's root.
        sha256: of that file.
        encoder: of the registry; finds the nodes nearest to a rationale.
        teacher: a language model's entry (docs/llm.md), replayed; empty for rules.
        recipe: fields of `tuning.samples.Recipe` that differ from its own.
        repository: of the base model.
        commit: of it, 40 hex digits.
        settings: fields of `tuning.training.Settings` that differ from its own.
        device: 'cuda' or 'cpu'; '' for a GPU, which must then be there.
    """

    paper: str
    file: str
    sha256: str
    encoder: str
    teacher: Mapping[str, Any]
    recipe: Mapping[str, Any]
    repository: str
    commit: str
    settings: Mapping[str, Any]
    device: str = ""


@dataclass(frozen=True)
class Built:
    """The examples, as a reader sees them.

    Attributes:
        summary: what became of CoQA's questions.
        pair: the messages of one question's two examples.
        file: of the examples.
        sha256: of that file.
    """

    summary: pd.DataFrame
    pair: pd.DataFrame
    file: Path
    sha256: str


@dataclass(frozen=True)
class TuningResult(StageResult):
    """A tuning that ended well.

    Attributes:
        losses: a row a step: step, loss, learning_rate.
    """

    losses: pd.DataFrame


def entry_of(name: str) -> Tuning:
    """The entry of params.yaml, checked.

    Raises:
        MemreproError: if there is none of the name, or it has an unknown key or lacks one.
    """
    entries = read_yaml(root() / "params.yaml").get("tuning") or {}
    return build_entry(Tuning, f"tuning.{name}", named("tuning", entries, name))


def build_examples(name: str) -> Built:
    """Make the examples from CoQA and write them, with what was left out.

    Raises:
        MemreproError: if CoQA's file is missing or another one, or the teacher's answers are not
            recorded.
    """
    entry = entry_of(name)
    recipe = build_entry(Recipe, f"tuning.{name}.recipe", dict(entry.recipe))
    coqa = read_coqa(root() / entry.file, entry.sha256)
    encoder = load_encoder(entry.encoder)
    with VectorStore() as vectors, AnswerStore() as answers:
        teacher = language_model("teacher", entry.teacher, answers, name) if entry.teacher else None
        made = build(
            coqa,
            recipe,
            partial(embed, encoder=encoder, role="document", store=vectors, progress=False),
            teacher,
        )
    # As the deliberating model will be asked, and is to answer.
    sha256 = write_examples(
        _examples(name),
        made.samples,
        lambda query, evidence: deliberator.ask(query, evidence).messages,
        lambda missing, _: deliberator.answer_text(missing),
    )
    left_out = pd.DataFrame([*coqa.skipped, *made.left_out], columns=["item", "reason"])
    write_table(_left_out(name), left_out)
    first = read_examples(_examples(name))[:2]
    pair = pd.DataFrame(
        [(one.example_id, m.role, m.content) for one in first for m in one.messages],
        columns=["example", "role", "content"],
    )
    summary = pd.DataFrame(made.counts.items(), columns=["questions", "number"])
    return Built(summary, pair, _examples(name), sha256)


def tune(name: str) -> TuningResult:
    """Tune the base on the examples; write the adapter, and the whole model outside DVC.

    Raises:
        MemreproError: as `lora.fine_tune`; or if the base cannot be had.
    """
    entry = entry_of(name)
    settings = build_entry(Settings, f"tuning.{name}.settings", dict(entry.settings))
    base = Base(entry.repository, entry.commit, hub_folder(entry.repository, entry.commit))
    tuned = fine_tune(
        _examples(name),
        base,
        settings,
        _folder(name) / "adapter",
        cache_folder() / "tuning" / name,
        device=entry.device or None,
    )
    merged = cache_folder() / "tuned" / name
    digest = merge_adapter(base, tuned.adapter, merged, settings.dtype)
    tenth = max(1, len(tuned.losses) // 10)
    rows = {
        "base": f"{base.repository} {base.revision}",
        "examples learnt": tuned.record["data"]["examples"],
        "examples left out": tuned.record["data"]["left out"],
        "steps": tuned.record["steps"],
        "loss, first tenth of the steps": f"{tuned.losses['loss'].head(tenth).mean():.4f}",
        "loss, last tenth of the steps": f"{tuned.losses['loss'].tail(tenth).mean():.4f}",
        "revision of the whole model": f"{digest} {settings.dtype}",
    }
    return TuningResult(
        f"finetune_associa {name}",
        pd.DataFrame(rows.items(), columns=["what", "value"]),
        [root() / entry.file],
        [_examples(name), _left_out(name), *sorted(tuned.adapter.iterdir())],
        tuned.losses,
    )


def _folder(name: str) -> Path:
    return root() / "data" / "tuning" / name


def _examples(name: str) -> Path:
    return _folder(name) / "examples.jsonl"


def _left_out(name: str) -> Path:
    return _folder(name) / "left_out.csv"
