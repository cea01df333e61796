"""The store of answers, as the tests of Associa's prompts have it."""

from tests.papers.associa.llm.conftest import store

__all__ = ["store"]
