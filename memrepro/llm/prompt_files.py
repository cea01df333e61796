"""Prompts worded in a YAML file: a system message of ours, and the data as one JSON object.

Written as JSON no text of the data can end its string, so what others wrote never stands where
instructions do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memrepro.files.atomic import read_yaml
from memrepro.llm.model import Parameters, Prompt


@dataclass(frozen=True)
class PromptFile:
    """The prompts of one file, by name: `system`, and `maximum_tokens` of an answer.

    Attributes:
        path: of the file.
        categories: what the word CATEGORIES in a system message stands for.
    """

    path: Path
    categories: tuple[str, ...]

    def prompt(self, name: str, data: Mapping[str, Any]) -> Prompt:
        """The prompt of this name, with the data that the model is to look at."""
        system, parameters = _system_and_parameters(self, name)
        return Prompt.from_user(json.dumps(data, ensure_ascii=False), system, parameters)


@cache
def _system_and_parameters(file: PromptFile, name: str) -> tuple[str, Parameters]:
    """The system message, and how to answer (greedy)."""
    entry = read_yaml(file.path)[name]
    system = entry["system"].strip().replace("CATEGORIES", ", ".join(file.categories))
    return system, Parameters(maximum_tokens=entry["maximum_tokens"])
