"""What stages need that run on the toy data set, whose encoder has no tokenizer."""

import pytest

from memrepro.study.search import key_sizes

_counter = key_sizes._counter


class WordCounter:
    """The tokens of 'hash-64': its words."""

    limit, dimension = 256, 64

    def counts(self, texts):
        return [len(text.split()) for text in texts]


@pytest.fixture(autouse=True)
def words_of_the_toy(monkeypatch):
    monkeypatch.setattr(
        key_sizes, "_counter", lambda name: WordCounter() if name == "hash-64" else _counter(name)
    )
