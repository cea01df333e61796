"""The instruction-tuning examples of Associa's deliberating model (Appendix A), as a file.

Steps 1 to 5 of the appendix joined. A line of the file is `{"id": ..., "messages": [...]}`, chat
messages whose last one is the answer to learn; lines stand in the order of their ids. The file
holds CoQA's texts: it is data and stays out of git.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memrepro.core.similarity import Floats
from memrepro.errors import MemreproError
from memrepro.files import atomic
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
from memrepro.papers.associa.tuning.teacher import answer_text, describe, restore, stands_alone

# From a query and texts of evidence to the messages that the deliberating model is asked with.
MakePrompt = Callable[[str, Sequence[str]], Sequence[Message]]
# From missing entities and the places of irrelevant evidence to the text that it answers.
MakeAnswer = Callable[[Sequence[str], Sequence[int]], str]
# From texts to vectors, (n_texts, dimension), as `vectors.embed` with an encoder and a store.
Embed = Callable[[list[str]], Floats]

_ASK = (
    "You check whether the evidence below is enough to answer the question. If it is, reply {}. If "
    'not, reply with one JSON object: {"missing": [...], "irrelevant": [...]}, where "missing" '
    'lists the entities that should be looked for, and "irrelevant" the numbers of the pieces of '
    "evidence that have nothing to do with the question. Reply with the JSON alone."
)


@dataclass(frozen=True)
class Built:
    """Samples, and what became of CoQA's questions.

    Attributes:
        samples: in the order of their ids.
        counts: reason → how many questions, from all that CoQA holds down to those used.
        left_out: (question or sample, reason) of what a teacher or the story gave no use for.
    """

    samples: tuple[Sample, ...]
    counts: dict[str, int]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Example:
    """One line of the file.

    Attributes:
        example_id: of the sample.
        messages: the prompt's, then the answer.
    """

    example_id: str
    messages: tuple[Message, ...]


def ask(query: str, evidence: Sequence[str]) -> tuple[Message, ...]:
    """The default prompt: the evidence numbered from 1, then the question."""
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(evidence, start=1))
    return (Message("system", _ASK), Message("user", f"Evidence:\n{listed}\n\nQuestion: {query}"))


def build(coqa: Coqa, recipe: Recipe, embed: Embed, teacher: LanguageModel | None = None) -> Built:
    """Draw a positive and a negative sample of each chosen question.

    Questions that the story does not answer have no cue and are not used; without a teacher, those
    that do not stand by themselves are not either.

    Args:
        coqa: the stories.
        recipe: how samples are drawn.
        embed: gives nodes and cues their vectors; the paper does not name its encoder.
        teacher: restores questions and writes negative answers; None for rules.

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
    pairs: list[tuple[Sample, Sample]] = []
    by_story: dict[str, list[tuple[Story, Question]]] = {}
    for story, question in chosen:
        if question.question_id in queries:
            by_story.setdefault(story.story_id, []).append((story, question))
    with bar(len(by_story), "samples", " stories") as progress:
        for asked in by_story.values():
            for question_id, pair in _pairs(asked, queries, recipe, embed).items():
                if pair:
                    pairs.append(pair)
                else:
                    left_out.append((question_id, "all nodes of its story tell its cue"))
            progress.update()
    negative = [pair[1] for pair in pairs]
    if teacher:
        negative, lost = describe(teacher, negative)
        left_out += lost
    kept = {sample.query_id: sample for sample in negative}
    samples = [s for p, _ in pairs if p.query_id in kept for s in (p, kept[p.query_id])]
    if not samples:
        raise MemreproError(
            f"none of the {coqa.total} questions gives a sample ({counts}): the file has too few "
            "questions that stand by themselves; name a teacher that restores them"
        )
    counts["used"] = len(samples) // 2
    return Built(tuple(sorted(samples, key=lambda s: s.sample_id)), counts, tuple(left_out))


def _pairs(
    asked: Sequence[tuple[Story, Question]], queries: dict[str, str], recipe: Recipe, embed: Embed
) -> dict[str, tuple[Sample, Sample] | None]:
    """The two samples of each question about one story."""
    nodes = story_nodes(asked[0][0].text, recipe.chunk_sentences)
    cues = [question.cue for _, question in asked]
    vectors = embed([*(node.text for node in nodes), *cues])
    made = {}
    for (_, question), cue in zip(asked, vectors[len(nodes) :], strict=True):
        located = nearest(vectors[: len(nodes)], cue, recipe.cues).tolist()
        name = question.question_id
        made[name] = draw(name, queries[name], question.cue, nodes, located, recipe)
    return made


def write_examples(
    path: Path,
    samples: Sequence[Sample],
    make_prompt: MakePrompt = ask,
    make_answer: MakeAnswer = answer_text,
) -> str:
    """Write the file; equal samples, equal bytes.

    Args:
        path: below `data/`, which git ignores.
        samples: in order.
        make_prompt: the prompt that the deliberating model is asked with, so that it learns it.
        make_answer: likewise the form of its answers; places of evidence count from 1.

    Returns:
        The hex SHA-256 of the file.
    """
    lines = []
    for sample in samples:
        messages = [
            *make_prompt(sample.query, sample.evidence),
            Message("assistant", make_answer(sample.missing, sample.irrelevant)),
        ]
        said = [{"role": message.role, "content": message.content} for message in messages]
        line = {"id": sample.sample_id, "messages": said}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    atomic.write_text(path, "".join(lines))
    return atomic.sha256(path)


def read_examples(path: Path) -> list[Example]:
    """Read what `write_examples` wrote.

    Raises:
        MemreproError: naming the first line that is no example.
    """
    examples = []
    for number, line in atomic.numbered_json_lines(path):
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
