"""A language model that says what it is told to, behind the real records."""

from memrepro.llm.model import Answer, ModelIdentity
from memrepro.llm.recorded import Recorded, Recording

IDENTITY = ModelIdentity("scripted", "1")


class Scripted:
    """A backend whose answer to a prompt is `say(prompt)`: a text, or (text, finish reason)."""

    identity = IDENTITY

    def __init__(self, say):
        self.say, self.asked = say, []

    def stream(self, prompts):
        for prompt in prompts:
            self.asked.append(prompt)
            said = self.say(prompt)
            text, finish = said if isinstance(said, tuple) else (said, "stop")
            yield prompt, Answer(text, 1, 1, 0.0, IDENTITY.model, IDENTITY.revision, finish, "")


def live(store, say):
    """A model that records what `say` says."""
    return Recording(store, Scripted(say), progress=False)


def replay(store):
    """A model that replays it."""
    return Recorded(store, IDENTITY, "associa")
