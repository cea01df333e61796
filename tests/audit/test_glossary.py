"""Every word of judgement in the results is defined, once, and each that is defined is used."""

import re
from pathlib import Path

import pandas as pd
import pytest

from memrepro.audit import claims, coverage, finding, verdicts
from memrepro.audit.glossary import word_of, words
from memrepro.errors import MemreproError
from memrepro.papers.findings import study
from memrepro.report import compared
from memrepro.report.claims import UNCHECKED

ROOT = Path(__file__).parents[2]
# Columns of the results' tables that hold nothing but such words.
COLUMNS = ("verdict", "outcome", "change", "class")


def words_in_results():
    """Word → a table that has it."""
    found = {}
    for path in sorted((ROOT / "results").glob("*/*/*.csv")):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        texts = [table[name] for name in COLUMNS if name in table]
        if {"column", "reproduced", "metric"} <= set(table):
            texts.append(table.loc[table["column"] == "verdict", "reproduced"])
        for text in texts:
            found |= dict.fromkeys(map(word_of, text.unique()), path.relative_to(ROOT))
    found.pop("", None)
    return found


def test_every_word_in_the_results_is_in_the_glossary():
    found = words_in_results()
    assert len(found) > 15
    assert not {word: str(path) for word, path in found.items() if word not in words()}


def test_every_word_that_code_can_write_is_in_the_glossary():
    written = {
        *verdicts.JUDGED, verdicts.NOT_RUN, verdicts.NOT_COMPARABLE, verdicts.NOT_IN_PAPER,
        verdicts.AGREES, verdicts.DIFFERS, verdicts.BY_READING, *coverage.OUTCOMES,
        finding.HOLDS, finding.FAILS, finding.TELLS, compared.HOLDS, compared.FAILS,
        compared.UNDECIDED, UNCHECKED, *claims.CLASSES, study.HELPS, study.HARMS, study.OPEN,
    }  # fmt: skip
    assert written <= set(words())


def test_no_word_is_defined_for_nothing():
    """Each stands in code or data of the package, beside the glossary."""
    files = (p for e in ("py", "yaml") for p in (ROOT / "memrepro").rglob(f"*.{e}"))
    text = "\n".join(p.read_text() for p in files if "glossary" not in p.name)
    assert not [word for word in words() if word not in text]


def test_a_word_with_two_meanings_is_refused(tmp_path):
    path = tmp_path / "words.yaml"
    path.write_text("A: {won: one}\nB: {lost: two, won: three}\n")
    with pytest.raises(MemreproError, match=r"words.yaml defines 'won' twice, again under 'B'"):
        words(path)


def test_a_meaning_refers_to_words_that_are_there():
    named = {word for meaning in words().values() for word in re.findall(r"\*([^*]+)\*", meaning)}
    assert named <= set(words())
