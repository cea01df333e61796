"""The prompts of `prompts.yaml`: a system message of ours, and the data as one JSON object.

Written as JSON no text of a conversation can end its string, so what others wrote never stands
where instructions do.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from memrepro.llm.model import Parameters, Prompt
from memrepro.store import read_yaml
from memrepro.tiered_store.fact import CATEGORIES

PROMPTS = Path(__file__).with_name("prompts.yaml")


@cache
def _told(name: str) -> tuple[str, Parameters]:
    """The system message, and how to answer (greedy)."""
    entry = read_yaml(PROMPTS)[name]
    system = entry["system"].strip().replace("CATEGORIES", ", ".join(CATEGORIES))
    return system, Parameters(maximum_tokens=entry["maximum_tokens"])


def prompt(name: str, data: Mapping[str, Any]) -> Prompt:
    """The prompt `name` with its data.

    Args:
        name: 'extraction' or 'decision'.
        data: what the model is to look at, as JSON holds it.
    """
    system, parameters = _told(name)
    return Prompt.of(json.dumps(data, ensure_ascii=False), system, parameters)
