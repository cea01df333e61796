"""A hand-made file in CoQA's schema, and a teacher that answers by rule."""

import json

from memrepro.files.atomic import sha256
from memrepro.llm.model import Answer, ModelIdentity

LIBRARY = (
    "The Harbour Library stands in Brightwater. Ida Marlow founded it in 1891. She paid for it "
    "with the money of her fishing fleet. The first room held maps of the northern islands. A "
    "fire destroyed the west wing in March. Tomas Reed rebuilt the wing with stone from the "
    "quarry. Today children read there on Sundays. The cellar keeps old newspapers of the town."
)
OVEN = (
    "Nora opened a bakery near the station. Her oven came from Lisbon. On Mondays she bakes rye "
    "bread for the hospital. Her neighbour Felix delivers the loaves by bicycle. He once lost a "
    "basket in the canal."
)


def turn(number, question, answer, cue, story):
    start = story.find(cue)
    asked = {"turn_id": number, "input_text": question}
    return asked, {
        "turn_id": number,
        "input_text": answer,
        "span_text": cue,
        "span_start": start,
        "span_end": start + len(cue) if start >= 0 else -1,
    }


def story(story_id, text, *turns):
    made = [turn(number, *one, text) for number, one in enumerate(turns, start=1)]
    return {
        "source": "made",
        "id": story_id,
        "filename": f"{story_id}.txt",
        "story": text,
        "questions": [question for question, _ in made],
        "answers": [answer for _, answer in made],
        "name": story_id,
    }


def content():
    return {
        "version": "1.0",
        "data": [
            story(
                "s2library",
                LIBRARY,
                ("Who founded the Harbour Library?", "Ida Marlow", "Ida Marlow founded it in 1891"),
                ("When?", "1891", "founded it in 1891"),
                ("What destroyed the west wing?", "a fire", "A fire destroyed the west wing"),
                ("Who rebuilt it?", "Tomas Reed", "Tomas Reed rebuilt the wing"),
                ("How many books does the library own?", "unknown", "unknown"),
            ),
            story(
                "s1oven",
                OVEN,
                ("Where does the oven come from?", "Lisbon", "Her oven came from Lisbon"),
                ("Who delivers the loaves by bicycle?", "Felix", "Felix delivers the loaves"),
            ),
        ],
    }


def write(path, value):
    path.write_text(json.dumps(value))
    return path, sha256(path)


class Teacher:
    """Answers each prompt by a function of its text."""

    identity = ModelIdentity("teacher", "1")

    def __init__(self, reply):
        self.reply = reply
        self.prompts = []

    def answer(self, prompts):
        self.prompts += prompts
        return [Answer(self.reply(p), 1, 1, 0.0, "teacher", "1", "stop", "made") for p in prompts]
