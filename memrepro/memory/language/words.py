"""Words of a segment and of a query, where all that was said is searched.

SQLite's FTS5 with Porter's stems. What is indexed is what was said, without the minute before it;
the scripts that write no words apart are cut into pairs of signs, in texts and queries alike.
"""

import re
import sqlite3

from memrepro.text.scripts import sign_pairs, words_and_pairs

# "who" and "what" stand in nearly every question and say nothing of its answer.
_EMPTY = frozenset(
    """
    a about after all am an and any are as at be been before being but by can could did do does
    doing done for from had has have having he her hers him his how i if in into is it its just ll
    m me might mine more most my no nor not of on or our ours out over own re s same shall she
    should so some such t than that the their theirs them then there these they this those to too
    up us ve very was we were what when where which while who whom whose why will with would you
    your yours d tell remember know
    """.split()  # noqa: SIM905
)
_STAMP = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d\] (?:(?:user|assistant): )?", re.MULTILINE)
_TOKENISER = "porter unicode61 remove_diacritics 2"
_PLAIN = "unicode61 remove_diacritics 2"
_SCRIPT = """
DROP TRIGGER IF EXISTS segment_comes;
DROP TABLE IF EXISTS words;
CREATE VIRTUAL TABLE words USING fts5(text, tokenize = '{tokeniser}');
CREATE TRIGGER segment_comes AFTER INSERT ON segments WHEN new.tier = 'warm' BEGIN
    INSERT INTO words (rowid, text) VALUES (new.number, {text}); END;
INSERT INTO words (rowid, text) SELECT new.number, {text} FROM segments new WHERE tier = 'warm';
"""


def spoken(text: str) -> str:
    """A segment's text as it is encoded: without minutes, and without a nameless speaker's name."""
    return _STAMP.sub("", text)


def indexed(text: str) -> str:
    """A segment's text as its words are indexed."""
    return sign_pairs(spoken(text))


def index_words(connection: sqlite3.Connection, *, stems: bool) -> None:
    """Index the warm segments' words anew, by their stems or as the document has them."""
    parts = (_TOKENISER, "indexed(new.text)") if stems else (_PLAIN, "new.text")
    script = _SCRIPT.format(tokeniser=parts[0], text=parts[1])
    # `executescript` would commit the transaction that it is called in.
    statement = ""
    for line in script.strip().split("\n"):
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


def telling_words(query: str) -> list[str]:
    """The words of a query that say what it is about, each once."""
    found = dict.fromkeys(words_and_pairs(query))
    return [word for word in found if word not in _EMPTY]


def content_words(query: str) -> list[str]:
    """The same; all words where none says so."""
    return telling_words(query) or list(dict.fromkeys(words_and_pairs(query)))


def any_of(found: list[str]) -> str:
    """FTS5's terms for texts that have one of some words."""
    return " OR ".join(f'"{word}"' for word in found) or '""'
