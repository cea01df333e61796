"""The sample's gold extractions: the fact that a turn tells, as the compiler wrote it there."""

from pathlib import Path

from memrepro.core.extractions import Extracted, Extraction
from memrepro.core.memory import Dataset
from memrepro.files import atomic


def extract(folder: Path, dataset: Dataset) -> Extracted:
    """The gold facts of each round, each session once.

    Raises:
        MemreproError: if the compiled file is missing or damaged.
    """
    told = {
        (session_id, f"{session_id}_{position}"): turn["fact"]
        for instance in atomic.read_json(folder / "sample.json")
        for session_id, turns in zip(
            instance["haystack_session_ids"], instance["haystack_sessions"], strict=True
        )
        for position, turn in enumerate(turns, start=1)
        if "fact" in turn
    }
    texts = [
        Extraction(session.key, r.round_id, "gold", "fact", told[session.session_id, r.round_id])
        for session in dataset.sessions
        for r in session.rounds
        if (session.session_id, r.round_id) in told
    ]
    return Extracted("the sample's compiler", texts, [], [], [])
