"""Positive and negative samples of evidence for a question about a story (Associa, Appendix A).

A story is a graph of text chunks, events and entities, made as memory graphs are (§4.1): here by
rules, a sentence being an event. The nodes nearest to a question's rationale are the correct cues,
T. A positive sample is drawn with T among its nodes, a negative one from the graph without T.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, NonNegativeInt, PositiveInt, model_validator

from memrepro.core.similarity import Floats, normalise, products
from memrepro.retrieve.associa.keys.clues import UtteranceClues, read_event
from memrepro.retrieve.associa.keys.entities import FIRST_PERSON, mentions, names_in
from memrepro.retrieve.associa.keys.graph import ENTITY, EVENT, UTTERANCE, build_from
from memrepro.text.sentences import sentences

SUFFICIENT, MISSING = "sufficient", "missing"
_CLUES = 5  # each is another search


class Recipe(BaseModel, frozen=True, strict=True, extra="forbid"):
    """How samples are drawn; the paper names only how many nodes T has.

    Attributes:
        chunk_sentences: sentences of a text chunk.
        cues: the nodes of T, 'the 2-3 graph nodes with the highest semantic similarity'.
        nodes: of a sample's evidence, at most; 15 is retrieval's top_k (§5.2.1).
        questions: how many questions are used (CoQA has 127,000), drawn by the seed, each for a
            positive and a negative sample, so that the two are equal in number.
        seed: decides the questions and each sample's nodes.
    """

    chunk_sentences: PositiveInt = 3
    cues: PositiveInt = 3
    nodes: PositiveInt = 15
    questions: PositiveInt = 5000
    seed: NonNegativeInt = 0

    @model_validator(mode="after")
    def _holds_all_cues(self) -> "Recipe":
        if self.nodes < self.cues:
            raise ValueError("a positive sample holds all cues: nodes must be at least cues")
        return self


class Node(NamedTuple):
    """A node of a story's graph: its kind, an index of `graph.NODE_KINDS`, and its text."""

    kind: int
    text: str


class Sample(NamedTuple):
    """One question with evidence.

    Attributes:
        sample_id: `<question>-sufficient` or `<question>-missing`.
        query: the question, restored.
        evidence: texts of nodes, in the story's order.
        cues: texts of T, nearest to the rationale first.
        missing: the entities that are missing; none where the evidence is sufficient.
    """

    sample_id: str
    query: str
    evidence: tuple[str, ...]
    cues: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def query_id(self) -> str:
        """Of the question; its two samples share it."""
        return self.sample_id.rpartition("-")[0]


def digest(seed: int, name: str) -> int:
    """A number that seed and name decide, and nothing else."""
    return int.from_bytes(hashlib.sha256(json.dumps([seed, name]).encode()).digest()[:8])


def story_nodes(text: str, chunk_sentences: int) -> tuple[Node, ...]:
    """The chunks, events and entities of a story in order, no text twice."""
    found = sentences(text)
    names = names_in(found)
    clues = []
    for start in range(0, len(found), chunk_sentences):
        chunk = found[start : start + chunk_sentences]
        events = tuple(read_event(sentence, names, ()) for sentence in chunk)
        clues.append(UtteranceClues(str(start), " ".join(chunk), (), "", events))
    graph = build_from(clues)
    by_text: dict[str, int] = {}
    for node, kind in enumerate(graph.kinds.tolist()):
        if kind in (UTTERANCE, EVENT, ENTITY):
            by_text.setdefault(graph.text(node), kind)
    return tuple(Node(kind, text) for text, kind in by_text.items())


def nearest(vectors: Floats, cue: Floats, count: int) -> NDArray[np.intp]:
    """At most `count` nodes of highest cosine to a cue, best first; of equal ones the earlier.

    `vectors` are the nodes', shape (n_nodes, dimension), `cue` has the shape (dimension,).
    """
    cosines = products(normalise(cue[None]), normalise(vectors))[0]
    return np.argsort(-cosines, kind="stable")[:count]


def telling(nodes: Sequence[Node], located: Sequence[int], cue: str) -> frozenset[int]:
    """The nodes that no negative sample may hold.

    Besides T these are the nodes that hold the rationale's words, chunks that hold an event of T,
    and events and chunks that the rationale or a chunk of T holds: with one of them the clue would
    not be missing. The paper removes T alone.
    """
    words = _plain(cue)
    held = [_plain(nodes[i].text) for i in located if nodes[i].kind != ENTITY]
    found = set(map(int, located))
    for number, node in enumerate(nodes):
        text = _plain(node.text)
        tells = words in text
        if node.kind != ENTITY:
            tells |= any(text in one for one in (words, *held))
        if node.kind == UTTERANCE:
            tells |= any(one in text for one in held)
        if tells:
            found.add(number)
    return frozenset(found)


def draw(
    question_id: str,
    query: str,
    cue: str,
    nodes: Sequence[Node],
    located: Sequence[int],
    recipe: Recipe,
) -> tuple[Sample, Sample] | None:
    """The positive and the negative sample of a question, or None where all nodes tell the cue.

    What is missing is here by rule (`lacking`); a teacher's words may take its place.

    Args:
        question_id: decides with the seed which nodes are drawn.
        query: the question, restored.
        cue: the rationale.
        nodes: of the story.
        located: T, as places in `nodes`, nearest first.
        recipe: how many nodes, and the seed.
    """
    hidden = telling(nodes, located, cue)
    others = [i for i in range(len(nodes)) if i not in set(located)]
    apart = [i for i in others if i not in hidden]
    if not apart:
        return None
    cues = tuple(nodes[i].text for i in located)
    made = []
    for kind, kept, pool in ((SUFFICIENT, list(located), others), (MISSING, [], apart)):
        sample_id = f"{question_id}-{kind}"
        random = np.random.default_rng(digest(recipe.seed, sample_id))
        count = min(recipe.nodes - len(kept), len(pool))
        drawn = [*kept, *random.choice(pool, count, replace=False).tolist()]
        evidence = tuple(nodes[i].text for i in sorted(drawn))
        made.append(Sample(sample_id, query, evidence, cues))
    sufficient, negative = made
    entities = [nodes[i].text for i in located if nodes[i].kind == ENTITY]
    missing = lacking(query, cue, negative.evidence, entities)
    return sufficient, negative._replace(missing=missing)


def lacking(
    query: str, cue: str, evidence: Sequence[str], entities: Sequence[str]
) -> tuple[str, ...]:
    """The entities of question, T and rationale that no evidence names, at most `_CLUES`.

    Where there are none, what is missing is the rationale. `entities` are those among T's nodes.
    """
    names = names_in([query, cue])
    asked, told = (
        [one.text for one in mentions(text, names) if one.text != FIRST_PERSON]
        for text in (query, cue)
    )
    known = _plain(" ".join(evidence))
    found: dict[str, str] = {}
    for text in (*asked, *entities, *told):
        if _plain(text) not in known:
            found.setdefault(_plain(text), text)
    return tuple(found.values())[:_CLUES] or (cue,)


def _plain(text: str) -> str:
    """The words between spaces, so that one text holds another by whole words."""
    words = " ".join(re.findall(r"\w+", text.casefold()))
    return f" {words} "
