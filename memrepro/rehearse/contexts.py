"""PersonaMem's files at three lengths, at any scale.

Questions are as many as RF-Mem's Tables 7 and 8 count; lengths of texts are those of 32k, the file
at hand. 128k and 1M have 110 and 33 contexts of 736 and 3,548 turns, as others report.
"""

import csv
import json
import uuid
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

from memrepro.files import atomic
from memrepro.rehearse.prose import Prose
from memrepro.text.lengths import count_tokens

# Size → questions, contexts, and the mean number of turns of a context.
LENGTHS = {"32k": (589, 37, 175), "128k": (2727, 110, 736), "1M": (2674, 33, 3548)}
CHAT = 35  # turns, with the system's
_PERSONAS = 20
# Question type → how many of 32k; the larger sizes have the same names.
TYPES = {
    "track_full_preference_evolution": 139, "recall_user_shared_facts": 129,
    "recalling_the_reasons_behind_previous_updates": 99, "suggest_new_ideas": 93,
    "generalizing_to_new_scenarios": 57, "provide_preference_aligned_recommendations": 55,
    "recalling_facts_mentioned_by_the_user": 17,
}  # fmt: skip
_TOPICS = (
    "movieRecommendation", "datingConsultation", "financialConsultation", "travelPlanning",
    "bookRecommendation", "musicRecommendation", "studyConsultation", "familyRelations",
    "legalConsultation", "medicalConsultation", "homeDecoration", "foodRecommendation", "therapy",
)  # fmt: skip
COLUMNS = (
    "persona_id", "question_id", "question_type", "topic", "context_length_in_tokens",
    "context_length_in_letters", "distance_to_ref_in_blocks", "distance_to_ref_in_tokens",
    "num_irrelevant_tokens", "distance_to_ref_proportion_in_context", "user_question_or_message",
    "correct_answer", "all_options", "shared_context_id", "end_index_in_shared_context",
)  # fmt: skip
# A turn, and how many tokens it has.
_Counted = tuple[dict[str, str], int]


def write_contexts(folder: Path, scale: float, seed: int) -> None:
    """Write PersonaMem's files: `scale` of the contexts of each size, two at least."""
    for size, (questions, contexts, turns) in LENGTHS.items():
        rng = Random(f"memrepro rehearsal of contexts {size} {seed}")
        chats = max(3, round(min(1.0, 50 * scale) * turns / CHAT))
        count = max(2, round(contexts * scale))
        kinds = [kind for kind, n in TYPES.items() for _ in range(n)]
        rng.shuffle(kinds)
        kinds[: len(TYPES)] = TYPES  # each of them in the first context
        asked = -(-questions // contexts)
        with (
            atomic.replacing(folder / f"shared_contexts_{size}.jsonl") as lines,
            atomic.replacing(folder / f"questions_{size}.csv") as rows,
            lines.open("w", encoding="utf-8") as contexts_file,
            rows.open("w", encoding="utf-8", newline="") as questions_file,
        ):
            table = csv.writer(questions_file)
            table.writerow(COLUMNS)
            said: list[list[_Counted]] = []
            for number in range(count):
                persona = number * _PERSONAS // count
                if not number or persona != (number - 1) * _PERSONAS // count:
                    # Contexts of one persona share some of its chats.
                    said = [_chat(rng, persona) for _ in range(chats + chats // 4 + 1)]
                context = [turn for chat in rng.sample(said, chats) for turn in chat]
                context_id = f"{rng.getrandbits(256):064x}"
                contexts_file.write(
                    json.dumps({context_id: [t for t, _ in context]}, ensure_ascii=False) + "\n"
                )
                for place in range(number * asked, min((number + 1) * asked, questions)):
                    kind = kinds[place % len(kinds)]
                    table.writerow(
                        (persona, *_question_cells(rng, place, kind, context, context_id))
                    )


def _chat(rng: Random, persona: int) -> list[_Counted]:
    prose = Prose(rng)
    found = [
        {
            "role": "system",
            "content": f"Current user persona: number {persona}. {prose.text('assistant', 800)}",
        }
    ]
    while len(found) < CHAT:
        for role, size in (("user", 640), ("user", 640), ("assistant", 1025)):
            # One user turn in three stands before another.
            if role == "assistant" or found[-1]["role"] != "user" or rng.random() < 0.16:
                begun = f"{role.capitalize()}:"
                found.append(prose.turn(role, size, begun))
    return [(turn, count_tokens(turn["content"])) for turn in found]


def _question_cells(
    rng: Random, place: int, kind: str, context: list[_Counted], context_id: str
) -> Iterator[Any]:
    """A question's cells after the persona's: where it is asked, and what it refers to."""
    prose = Prose(rng)
    tokens = [*accumulate((count for _, count in context), initial=0)]
    systems = [n for n, (turn, _) in enumerate(context) if turn["role"] == "system"]
    last = len(context) - 1
    end = last if rng.random() < 0.66 else rng.choice(systems[1:]) + 1
    users = [n for n in range(end) if context[n][0]["role"] == "user"]
    referred = rng.choice(users)
    question = prose.text("user", 96 if rng.random() < 0.6 else 690)
    length = tokens[end] + count_tokens(question)
    distance = length - tokens[referred]
    letters = "abcd"
    options = [f"({letter}) {prose.text('assistant', 400)}" for letter in letters]
    right = rng.randrange(4)
    if place % 35 == 3:  # in 17 questions of 32k the right option stands twice
        options[right - 1] = options[right - 1][:4] + options[right][4:]
    yield from (
        uuid.UUID(int=rng.getrandbits(128), version=4), kind, rng.choice(_TOPICS), length,
        sum(len(turn["content"]) for turn, _ in context[:end]),
        sum(n >= referred for n in systems) + (end == last), distance, 0,
        f"{100 * distance / length:.2f}%", question, f"({letters[right]})", repr(options),
        context_id, end,
    )  # fmt: skip
