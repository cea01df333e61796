"""Deliberating recall by a language model (Associa §4.2.2); for `associa.deliberated`."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from memrepro.llm.model import LanguageModel, Prompt
from memrepro.llm.records import AnswerStore
from memrepro.llm.structured import parse_all
from memrepro.retrieve.associa.deliberation import QueryEvidence
from memrepro.retrieve.associa.prompts import prompt

# Each clue is another search, so that no answer may ask for many.
_CLUES, _CHARACTERS = 5, 200


class _Missing(BaseModel, extra="forbid"):
    missing: list[Annotated[str, StringConstraints(pattern=r"\S", max_length=_CHARACTERS)]] = Field(
        default=[], max_length=_CLUES
    )


def ask(query: str, evidence: Sequence[str]) -> Prompt:
    """What the model is asked about a question and its evidence."""
    return prompt("deliberation", {"question": query, "evidence": list(evidence)})


def answer_text(missing: Sequence[str]) -> str:
    """The answer that names these clues; `{}` where nothing is missing (Appendix A)."""
    return json.dumps({"missing": list(missing[:_CLUES])}, ensure_ascii=False) if missing else "{}"


@dataclass
class ModelDeliberator:
    """Asks a language model what is missing; an answer that cannot be used counts as 'sufficient'.

    The paper's own is a Qwen2.5-3B-Instruct tuned on CoQA (Appendix A), which is not published.

    Attributes:
        model: replays or records, see `memrepro.llm.choose.language_model`.
        counts: how many answers were of each kind of `llm.structured.KINDS`, over all calls.
        sufficient: how many of the used ones said that nothing is missing.
        refused: (question, reason) of the answers that could not be used.
    """

    model: LanguageModel
    counts: Counter[str] = field(default_factory=Counter)
    sufficient: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)

    def missing(self, asked: Sequence[QueryEvidence]) -> list[tuple[str, ...]]:
        """The missing clues of each question, in order; none where its evidence is sufficient.

        Raises:
            MemreproError: if an answer cannot be had, or when replayed is not recorded.
        """
        answers = self.model.answer([ask(one.query, one.evidence) for one in asked])
        parsed = parse_all(zip(map(str, range(len(asked))), answers, strict=True), _Missing)
        self.counts += parsed.counts
        self.refused += [(asked[int(item)].query, reason) for item, reason in parsed.refused]
        self.sufficient += sum(not one.missing for one in parsed.values.values())
        answered = (parsed.values.get(str(number), _Missing()) for number in range(len(asked)))
        return [tuple(dict.fromkeys(one.missing)) for one in answered]


@dataclass
class EntryDeliberator:
    """A model by its entry in `models` of params.yaml, which is had when the first question comes.

    Attributes:
        name: of the entry.
        entry: as `memrepro.llm.choose.language_model` reads it.
    """

    name: str
    entry: Mapping[str, Any]
    _asked: ModelDeliberator | None = None

    def missing(self, asked: Sequence[QueryEvidence]) -> list[tuple[str, ...]]:
        """As `ModelDeliberator.missing`; a live model's answers are recorded."""
        if self._asked is None:
            # What asks an endpoint is slow to import, and each reading of params.yaml comes by.
            from memrepro.llm.choose import language_model

            model = language_model(self.name, self.entry, AnswerStore(), f"by {self.name}")
            self._asked = ModelDeliberator(model)
        return self._asked.missing(asked)
