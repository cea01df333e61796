"""The texts of a data set for the question browser, where it has been prepared on this machine."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.site.pages import Site

_CHUNK = 400_000  # characters of text in one script


class Told(NamedTuple):
    """What a data set says, as far as it is here.

    Attributes:
        questions: query id → its memory, its text and when it was asked.
        held: memory → session → [the number of the script, the place in it].
        times: memory → session → when it took place.
    """

    questions: dict[str, tuple[str, ...]]
    held: dict[str, dict[str, list[int]]]
    times: dict[str, dict[str, str]]

    def asked(self, query_id: str) -> tuple[str, ...]:
        """The memory, the text and the time of a question; '' where they are not here."""
        return self.questions.get(query_id, ("", "", ""))


def write(site: Site, folder: str, dataset: str) -> Told:
    """Write a data set's texts in scripts of a bounded length; nothing where they are not here."""
    prepared = paths.prepared(dataset)
    if not (prepared / "texts.parquet").is_file():
        return Told({}, {}, {})
    place: dict[str, list[int]] = {}
    ids: dict[str, str] = {}
    for number, chunk in enumerate(_chunks(dataset)):
        for index, (key, session_id, _) in enumerate(chunk):
            place[key], ids[key] = [number, index], session_id
        body = [turns for _, _, turns in chunk]
        site.data(f"{folder}/t{number}", body)
    held: dict[str, dict[str, list[int]]] = {}
    times: dict[str, dict[str, str]] = {}
    for memory, key, at in read_table(prepared / "haystacks.parquet").itertuples(index=False):
        if key in place:  # a session without turns has no text
            held.setdefault(memory, {})[ids[key]] = place[key]
            times.setdefault(memory, {})[ids[key]] = at
    asked = read_table(prepared / "queries.parquet")
    columns = [asked[c].tolist() for c in ("query_id", "memory_id", "text", "at")]
    questions = {query_id: tuple(rest) for query_id, *rest in zip(*columns, strict=True)}
    return Told(questions, held, times)


def _chunks(dataset: str) -> Iterator[list[tuple[str, str, list[Any]]]]:
    """Sessions by key with their turns, `[round, turn, field, text]`, as many as fit a script."""
    prepared = paths.prepared(dataset)
    said = read_table(prepared / "texts.parquet")
    texts = dict(zip(said["text_id"].tolist(), said["text"].tolist(), strict=True))
    columns = ["session_key", "session_id", "round_id", "turn_id", "field", "text_id"]
    turns = read_table(prepared / "turns.parquet")[columns]
    chunk: dict[str, tuple[str, str, list[Any]]] = {}
    length = 0
    for key, session_id, *turn, text_id in turns.itertuples(index=False):
        if key not in chunk:
            if length > _CHUNK:
                yield list(chunk.values())
                chunk, length = {}, 0
            chunk[key] = (key, session_id, [])
        chunk[key][2].append([*turn, texts[text_id]])
        length += len(texts[text_id])
    if chunk:
        yield list(chunk.values())
