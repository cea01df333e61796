"""PersonaBench's files at four levels of noise, at any scale.

Counts and lengths of texts are those of the files at hand (noise 0.0 and 0.3); those of the noisier
ones follow from the sizes that the registry states.
"""

from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from memrepro.data.personabench import SOURCES
from memrepro.data.sample_writer import Topic, Writer
from memrepro.files import atomic
from memrepro.rehearse.prose import Prose

# Noise → sessions with each friend, sessions with an AI, and purchases of a person.
NOISES = {"0.0": (26, 15, 2), "0.3": (36, 25, 5), "0.5": (50, 33, 9), "0.7": (89, 61, 25)}
LEAST = (5, 5, 1)
PERSONS, WITH_DATA, MESSAGES = 10, 3, 100
_FRIENDS = (3, 3, 2)
Counts = dict[tuple[str, str], int]
# Kind and difficulty → questions of a person.
_ASKED: Counts = {
    ("Basic information", "easy"): 18, ("Preference", "easy"): 4, ("Preference", "hard"): 7,
    ("Subjective", "easy"): 4, ("Subjective", "hard"): 1, ("Social", "easy"): 5,
    ("Social", "hard"): 4,
}  # fmt: skip
_PETS = ("cat", "dog", "parrot", "tortoise")
_TIME = "%Y/%b/%d/%I:%M %p"


def write_persons(folder: Path, scale: float, seed: int) -> None:
    """Write the files below a folder: `scale` of each person's sessions, some at least.

    Below a scale of 1/10 there are fewer questions too, one of each kind at least.
    """
    asked = {key: max(1, round(count * min(1.0, 10 * scale))) for key, count in _ASKED.items()}
    for community in (0, 1):
        writer = Writer(Random(f"memrepro rehearsal of persons {community} {seed}"))
        people = [_person(writer, community, number, asked) for number in range(PERSONS)]
        base = folder / f"community_{community}"
        atomic.write_json(base / "eval_info/eval_info_all.json", [
            {"Name": one.name, "Eval_Info": {"qa": [q for q, _ in one.asked]}} for one in people
        ])  # fmt: skip
        for noise, counts in NOISES.items():
            sizes = [max(n, round(m * scale)) for n, m in zip(LEAST, counts, strict=True)]
            rng = Random(f"memrepro rehearsal of noise {noise} {community} {seed}")
            private = [_private(rng, p, sizes, noise) for p in people[:WITH_DATA]]
            for place, source in enumerate(SOURCES):
                atomic.write_json(base / f"private_data/noise_{noise}/{source}_data_all.json", [
                    {"Name": one.name, "Data": data[place]}
                    for one, (data, _) in zip(people, private, strict=False)
                ])  # fmt: skip
            atomic.write_json(
                base / f"eval_info/qa_gt_context_all_noise_{noise}.json",
                [entry for _, gold in private for entry in gold],
            )


class _Person(NamedTuple):
    name: str
    stem: str  # of its ids
    # Each question, and for each part of its answer the sentence that tells it.
    asked: list[tuple[dict[str, Any], dict[str, str]]]


def _person(writer: Writer, community: int, number: int, counts: Counts) -> _Person:
    rng = writer.rng
    prose = Prose(rng)
    # A title is part of a name but of no role.
    name = f"{'Mrs. ' * (number == 1 and community == 1)}{prose['name']} {prose['name']}"
    stem = f"{community:03d}{number:03d}"
    asked: list[tuple[dict[str, Any], dict[str, str]]] = []
    for kind, difficulty in (key for key, count in counts.items() for _ in range(count)):
        many = kind == "Preference" or (kind == "Social" and difficulty == "hard")
        revised = kind == "Preference" and difficulty == "hard"
        block = "many" if many else "fact"
        topic = writer.topic(block)
        told = _sentences_by_value(writer, topic[block], rng.randint(2, 5) if many else 1)
        ask = topic[block]["ask"]
        answer: Any = list(told) if many else next(iter(told))
        if kind == "Basic information" and not asked:
            answer = 20 + number  # an age is a number in the file
            told = {str(answer): f"I turned {answer} this year."}
        elif kind == "Basic information" and len(asked) == 1:
            answer = [{pet: prose["name"]} for pet in rng.sample(_PETS, rng.randint(1, 2))]
            told = {str(tuple(one.items())): "My {} is called {}.".format(*one.popitem())
                    for one in map(dict, answer)}  # fmt: skip
        asked.append(({
            "q_id": f"{stem}{len(asked):03d}",
            "question": ask if many else rng.choice(ask),
            "answer": answer,
            "type": kind,
            "difficulty": difficulty,
            "outdated_value": [prose["thing"]] if revised and rng.random() < 0.5 else None,
        }, told))  # fmt: skip
    return _Person(name, stem, asked)


def _sentences_by_value(writer: Writer, block: Topic, count: int) -> dict[str, str]:
    """Value → the sentence in which the person tells it."""
    values = writer.rng.sample(block["values"], count)
    slots = writer.slots()
    return {v: writer.rng.choice(block["say"]).format(**slots, v=v) for v in values}


def _private(
    rng: Random, person: _Person, sizes: list[int], noise: str
) -> tuple[list[list[Any]], list[dict[str, Any]]]:
    """What a person wrote, by source, and the gold of each question."""
    prose = Prose(rng)
    talks, chats, purchases = sizes
    if noise == "0.0" and person.stem == "001000":
        purchases = 0  # one person has bought nothing
    friends = [f"{prose['name']} {prose['name']}" for _ in range(_FRIENDS[int(person.stem[-1])])]
    count = len(friends) * talks + chats
    told: list[list[str]] = [[] for _ in range(count)]
    numbers = sorted(rng.sample(range(2 * count + purchases), count + purchases))
    ids = [f"{person.stem}{number:06d}" for number in numbers]
    spoken = rng.sample(ids, count)
    gold = []
    for question, parts in person.asked:
        segments = {}
        for part, sentence in parts.items():
            # Now and then, and more often with noise, a thing is told twice.
            places = rng.sample(range(count), 1 + (rng.random() < 0.05 + float(noise) / 10))
            for place in places:
                told[place].append(sentence)
            segments[part] = sorted(spoken[place] for place in places)
        gold.append({key: question[key] for key in ("q_id", "question", "answer")}
                    | {"segment_id": segments})  # fmt: skip
    entries = iter(zip(spoken, told, strict=True))
    talked = []
    for friend in friends:
        found = []
        for n in range(1, talks + 1):
            segment, said = next(entries)
            messages = _messages(rng, (person.name.removeprefix("Mrs. "), friend), said)
            found.append({"session": f"conversation---session---{n}", "time": _when(rng),
                          "target_name": friend, "conversation": messages,
                          "segment_id": segment})  # fmt: skip
        talked.append({"Target_name": friend, "Conversations": found})
    asked = [
        {"session": f"user_ai_interaction---session---{n}", "time": _when(rng),
         "user_ai_interaction": _messages(rng, ("user", "assistant"), said), "segment_id": segment}
        for n, (segment, said) in enumerate(entries, start=1)
    ]  # fmt: skip
    bought = [
        {"session": f"purchase_history---session---{n}", "time": _when(rng),
         "purchase_history": [_purchase(prose) for _ in range(rng.randint(1, 3))],
         "segment_id": segment}
        for n, segment in enumerate(sorted(set(ids) - set(spoken)), start=1)
    ]  # fmt: skip
    return [talked, asked, bought], gold


def _messages(rng: Random, roles: tuple[str, str], said: list[str]) -> list[dict[str, Any]]:
    """About eleven messages, in which the first role says what is to be said."""
    prose, count = Prose(rng), rng.randint(9, 14)
    found = []
    for place in range(count):
        own = place % 2 == 0
        text = " ".join(said[place // 2 :: (count + 1) // 2]) if own else ""
        kind = "assistant" if roles[place % 2] == "assistant" else "user"
        content = prose.turn(kind, MESSAGES, text)["content"]
        found.append({"role": roles[place % 2], "content": content})
    return found


def _purchase(prose: Prose) -> dict[str, Any]:
    return {
        "title": f"{prose['name']} {prose['quality']} {prose['thing']}",
        "description": prose.text("assistant", 150),
        "brand": prose["name"],
        "categories": [prose["thing"] for _ in range(3)],
    }


def _when(rng: Random) -> str:
    at = datetime(2024, 1, 1, 8) + timedelta(minutes=rng.randrange(365 * 24 * 60))
    return at.strftime(_TIME)
