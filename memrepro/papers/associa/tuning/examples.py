"""The instruction-tuning examples of Associa's deliberating model (Appendix A), as a file.

Steps 1 to 5 of the appendix joined. A line of the file is `{"id": ..., "messages": [...]}`, chat
messages as the deliberating model is asked (`llm.deliberator`), the last one the answer to learn;
lines stand in the order of their ids. The file holds CoQA's texts: it is data and stays out of git.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from memrepro.core.similarity import Floats
from memrepro.errors import MemreproError
from memrepro.files import atomic
from memrepro.files.given import numbered_json_lines
from memrepro.files.progress import bar
from memrepro.llm.model import ROLES, LanguageModel, Message
from memrepro.papers.associa.tuning.coqa import Coqa, Question, Story
from memrepro.papers.associa.tuning.samples import (
    Recipe,
    Sample,
    digest,
    draw,
    nearest,
    story_nodes,
)
from memrepro.papers.associa.tuning.teacher import describe, restore, stands_alone
from memrepro.retrieve.associa.model_deliberator import answer_text, ask

# From texts to vectors, (n_texts, dimension), as `vectors.embed` with an encoder and a store.
Embed = Callable[[list[str]], Floats]


class Built(NamedTuple):
    """Samples in the order of their ids, and what became of CoQA's questions.

    `counts` says how many there are, from all that CoQA holds down to those used; `left_out` has
    (question or sample, reason) of what a teacher or the story gave no use for.
    """

    samples: tuple[Sample, ...]
    counts: dict[str, int]
    left_out: tuple[tuple[str, str], ...]


class Example(NamedTuple):
    """One line of the file: a sample's id, the prompt's messages, and last the answer."""

    example_id: str
    messages: tuple[Message, ...]


def draw_examples(
    coqa: Coqa, recipe: Recipe, embed: Embed, teacher: LanguageModel | None = None
) -> Built:
    """Draw a positive and a negative sample of each chosen question.

    Questions that the story does not answer have no cue and are not used; without a teacher, who
    restores questions and writes negative answers, those that do not stand by themselves are not
    either. `embed` gives nodes and cues their vectors; the paper does not name its encoder.

    Raises:
        MemreproError: if the teacher cannot answer, or no question can be used.
    """
    answered = [(s, q) for s in coqa.stories for q in s.questions if q.cue]
    usable = [(s, q) for s, q in answered if teacher or stands_alone(q.text)]
    # By a number of its own, so that a higher count keeps the questions of a lower one.
    chosen = sorted(usable, key=lambda one: digest(recipe.seed, one[1].question_id))
    chosen = sorted(chosen[: recipe.questions], key=lambda one: one[1].question_id)
    queries = {question.question_id: question.text for _, question in chosen}
    left_out: list[tuple[str, str]] = []
    if teacher:
        queries, left_out = restore(teacher, chosen)
    counts = {
        "in CoQA": coqa.total,
        "skipped": len(coqa.skipped),
        "answered by the story": len(answered),
        "that can be used": len(usable),
        "chosen": len(chosen),
    }
    by_story: dict[Story, list[Question]] = {}
    for story, question in chosen:
        if question.question_id in queries:
            by_story.setdefault(story, []).append(question)
    pairs: dict[str, tuple[Sample, Sample]] = {}
    with bar(len(by_story), "samples", " stories") as progress:
        for story, asked in by_story.items():
            for name, pair in _pairs(story, asked, queries, recipe, embed).items():
                if pair:
                    pairs[name] = pair
                else:
                    left_out.append((name, "all nodes of its story tell its cue"))
            progress.update()
    positive, negative = ([pair[i] for pair in pairs.values()] for i in (0, 1))
    if teacher:
        negative, lost = describe(teacher, negative)
        left_out += lost
    kept = {sample.query_id for sample in negative}
    samples = [*negative, *(sample for sample in positive if sample.query_id in kept)]
    if not samples:
        raise MemreproError(
            f"none of the {coqa.total} questions gives a sample ({counts}): the file has too few "
            "questions that stand by themselves; name a teacher that restores them"
        )
    counts["used"] = len(kept)
    return Built(tuple(sorted(samples)), counts, tuple(left_out))


def _pairs(
    story: Story, asked: Sequence[Question], queries: dict[str, str], recipe: Recipe, embed: Embed
) -> dict[str, tuple[Sample, Sample] | None]:
    """The two samples of each question about one story."""
    nodes = story_nodes(story.text, recipe.chunk_sentences)
    vectors = embed([*(node.text for node in nodes), *(question.cue for question in asked)])
    made = {}
    for (name, *_, cue), vector in zip(asked, vectors[len(nodes) :], strict=True):
        located = nearest(vectors[: len(nodes)], vector, recipe.cues).tolist()
        made[name] = draw(name, queries[name], cue, nodes, located, recipe)
    return made


def write_examples(path: Path, samples: Sequence[Sample]) -> None:
    """Write the file, which belongs below `data/`; equal samples, equal bytes."""
    lines = []
    for one in samples:
        answer = Message("assistant", answer_text(one.missing))
        said = [asdict(message) for message in (*ask(one.query, one.evidence).messages, answer)]
        line = {"id": one.sample_id, "messages": said}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    atomic.write_text(path, "".join(lines))


def read_examples(path: Path) -> list[Example]:
    """Read what `write_examples` wrote.

    Raises:
        MemreproError: naming the first line that is no example.
    """
    examples = []
    for number, line in numbered_json_lines(path):
        try:
            messages = tuple(Message(one["role"], one["content"]) for one in line["messages"])
            roles = [message.role for message in messages]
            good = isinstance(line["id"], str) and {*roles} <= {*ROLES} and len(roles) > 1
            texts = all(isinstance(message.content, str) for message in messages)
        except (KeyError, TypeError):
            good = texts = False
        if not (good and texts and roles[-1] == "assistant"):
            raise MemreproError(
                f"{path} line {number} is no example: it must be an object with an 'id' and "
                "'messages' of a role and a content, the last the assistant's; build it anew"
            )
        examples.append(Example(line["id"], messages))
    if not examples:
        raise MemreproError(f"{path} holds no example: build it anew")
    return examples
