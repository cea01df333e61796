"""The rehearsal's endpoint, whose answers can be told from each other."""

from contextlib import contextmanager

from memrepro.rehearse import server as loopback
from memrepro.rehearse.server import Content, Fault, completion

__all__ = ["Fault", "completion", "said", "serving"]


def said(text):
    """What the endpoint answers to a text, so that every answer can be told from every other."""
    return f"{len(text)} letters from the end: {text[::-1]}"


@contextmanager
def serving(seconds=0.0, key=""):
    content = Content(reply=lambda messages: said(messages[-1]["content"]), key=key)
    with loopback.serving(content, seconds) as server:
        yield server
    assert not server.mistakes
