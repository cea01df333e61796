"""The prompts of `prompts.yaml`, by name: 'deliberation' and 'extraction'."""

from pathlib import Path

from memrepro.llm.prompt_files import PromptFile
from memrepro.retrieve.associa.keys.entities import CATEGORIES

prompt = PromptFile(Path(__file__).with_name("prompts.yaml"), CATEGORIES).prompt
