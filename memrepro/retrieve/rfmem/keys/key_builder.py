"""The doc of RF-Mem's released LongMemEval program: a session's date and its turns, as JSON.

The key scheme `dated-json` makes one key a session, an object of `date` (as LongMemEval's file has
it, "2023/05/20 (Sat) 02:21") and `conversation`, the texts of all turns in order, without blanks
between its parts. As a session stands in many memories under many dates, most texts are embedded
once a memory.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memrepro.core.key_builder import KeyBuilder
from memrepro.core.keys import Keys
from memrepro.core.memory import Memory, Session
from memrepro.core.ranking import tie_keys
from memrepro.errors import MemreproError
from memrepro.retrieve.rfmem import KEY_SCHEME_MARK

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")  # `%a` follows the machine's language


def dated_json(session: Session, time: str) -> str:
    """A session's text as the released program writes it.

    Args:
        session: its turns, in order.
        time: ISO 8601 to the minute, or '' where the data has none.
    """
    date = ""
    if time:
        when = datetime.fromisoformat(time)
        date = f"{when:%Y/%m/%d} ({_DAYS[when.weekday()]}) {when:%H:%M}"
    said = [turn.text for doc in session.rounds for turn in doc.turns]
    return json.dumps({"date": date, "conversation": said}, separators=(",", ":"))


@dataclass
class DatedJsonKeyBuilder(KeyBuilder):
    """One key a session."""

    @staticmethod
    def parse(granularity: str, key_scheme: str) -> None:
        """Nothing has parts here.

        Raises:
            MemreproError: if the docs are no sessions, or something is added to the scheme.
        """
        if granularity != "session" or key_scheme != KEY_SCHEME_MARK:
            raise MemreproError(
                f"key scheme {key_scheme!r} by {granularity!r}: write {KEY_SCHEME_MARK!r} alone, "
                "by session"
            )

    def make(self, memory: Memory) -> Keys:
        """The keys of one memory, without vectors."""
        ids: Sequence[str] = [session.session_id for session in memory.sessions]
        texts = map(dated_json, memory.sessions, memory.times)
        return Keys(
            tuple(ids),
            np.array([self.row_of(text) for text in texts], np.int64),
            self.texts,
            ("all",) * len(ids),
            np.arange(len(ids)),
            tie_keys(ids),
        )


BUILDER = DatedJsonKeyBuilder
