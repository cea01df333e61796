"""The prompts of `prompts.yaml`, by name: 'extraction' and 'decision'."""

from pathlib import Path

from memrepro.llm.prompt_files import PromptFile
from memrepro.memory.language.fact import CATEGORIES

prompt = PromptFile(Path(__file__).with_name("prompts.yaml"), CATEGORIES).prompt
