"""finetune: tune Associa's deliberating model on CoQA (§4.2.2, Appendix A); needs a GPU.

Two steps, so that a reader sees the examples before they are learnt: `build_examples` and `tune`.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ValidationError

from memrepro.encode.load import load_encoder
from memrepro.encode.models import cache_folder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml, root, write_table
from memrepro.llm.choose import language_model
from memrepro.llm.records import AnswerStore
from memrepro.llm.weights import hub_folder
from memrepro.papers.associa.tuning.coqa import fault, read_coqa
from memrepro.papers.associa.tuning.examples import draw_examples, write_examples
from memrepro.papers.associa.tuning.lora import Base, fine_tune, merge_adapter
from memrepro.papers.associa.tuning.samples import Recipe
from memrepro.papers.associa.tuning.training import Settings
from memrepro.study.params import named


class Tuning(BaseModel, frozen=True, extra="forbid"):
    """An entry of `tuning` in params.yaml.

    Attributes:
        paper: the document whose module this is.
        file: CoQA's, relative to the repository's root.
        sha256: of that file.
        encoder: of the registry; finds the nodes nearest to a rationale.
        teacher: a language model's entry (docs/llm.md), replayed; empty for rules.
        recipe: how samples are drawn.
        repository: of the base model.
        commit: of it, 40 hex digits.
        settings: how it is tuned.
        device: 'cuda' or 'cpu'; '' for a GPU, which must then be there.
    """

    paper: str
    file: str
    sha256: str
    encoder: str
    teacher: dict[str, Any]
    recipe: Recipe
    repository: str
    commit: str
    settings: Settings
    device: str = ""


def build_examples(name: str) -> pd.DataFrame:
    """Make the examples of an entry from CoQA and write them, with what was left out.

    Returns:
        What became of CoQA's questions: `questions, number`.

    Raises:
        MemreproError: if CoQA's file is missing or another one, or the teacher's answers are not
            recorded.
    """
    entry = _entry(name)
    coqa = read_coqa(root() / entry.file, entry.sha256)
    encoder = load_encoder(entry.encoder)
    with VectorStore() as vectors, AnswerStore() as answers:
        teacher = language_model("teacher", entry.teacher, answers, name) if entry.teacher else None
        embedded = partial(embed, encoder=encoder, role="document", store=vectors, progress=False)
        made = draw_examples(coqa, entry.recipe, embedded, teacher)
    write_examples(_folder(name) / "examples.jsonl", made.samples)
    left_out = pd.DataFrame([*coqa.skipped, *made.left_out], columns=["item", "reason"])
    write_table(_folder(name) / "left_out.csv", left_out)
    return pd.DataFrame(made.counts.items(), columns=["questions", "number"])


def tune(name: str) -> pd.DataFrame:
    """Tune the base on the examples; write the adapter, and the whole model outside DVC.

    Returns:
        What was learnt, and the revision of the whole model: `what, value`.

    Raises:
        MemreproError: as `lora.fine_tune`; or if the base cannot be had.
    """
    entry = _entry(name)
    settings = entry.settings
    base = Base(entry.repository, entry.commit, hub_folder(entry.repository, entry.commit))
    adapter = _folder(name) / "adapter"
    record, losses = fine_tune(
        _folder(name) / "examples.jsonl",
        base,
        settings,
        adapter,
        cache_folder() / "tuning" / name,
        device=entry.device or None,
    )
    digest = merge_adapter(base, adapter, cache_folder() / "tuned" / name, settings.dtype)
    tenth = max(1, len(losses) // 10)
    rows = {
        "base": f"{base.repository} {base.revision}",
        "examples learnt": record["data"]["examples"],
        "examples left out": record["data"]["left out"],
        "steps": record["steps"],
        "loss, first tenth of the steps": f"{losses['loss'].head(tenth).mean():.4f}",
        "loss, last tenth of the steps": f"{losses['loss'].tail(tenth).mean():.4f}",
        "revision of the whole model": f"{digest} {settings.dtype}",
    }
    return pd.DataFrame(rows.items(), columns=["what", "value"])


def _entry(name: str) -> Tuning:
    entries = read_yaml(root() / "params.yaml").get("tuning") or {}
    try:
        return Tuning.model_validate(named("tuning", entries, name))
    except ValidationError as error:
        raise MemreproError(f"params.yaml: tuning.{name}.{fault(error)}") from error


def _folder(name: str) -> Path:
    return root() / "data" / "tuning" / name
