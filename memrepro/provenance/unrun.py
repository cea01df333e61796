"""What would run a cell that was not run."""

import re

from memrepro.errors import MemreproError
from memrepro.provenance import tables
from memrepro.provenance.places import is_evaluated
from memrepro.study.plan import PROFILES

# What a reason says → what would run the cell; the first that fits counts.
_BY_REASON = (
    (r"^profile (?P<profile>\w+)\b", "`make repro PROFILE={profile}`"),
    (r"is searched in the profile (?P<profile>\w+)", "`make repro PROFILE={profile}`"),
    (r"is not in params\.yaml", "an entry of that name in params.yaml, then `make repro "
     "PROFILE={own}`"),
    (r"has not been run|has no run of it|not made", "`make repro PROFILE={own}`"),
    (r"\blatency\b.*measured", "`memrepro measure`"),
    (r"\bneeds\b|no code of|not named|was fine-tuned|no GPU and no", "nothing here: it {reason}"),
    (r"model hub|not in the mirror|models of a hub", "`make repro PROFILE=full` with a model hub "
     "and the network, as far as params.yaml plans it (`memrepro experiments`)"),
)  # fmt: skip


def would_run(name: tables.Name, reason: str) -> str:
    """What would give a cell its number, in words.

    Args:
        name: of the cell.
        reason: why it was not run, as its table has it.
    """
    for profile in PROFILES:
        if profile != name.profile and is_evaluated(profile) and _has_number(name, profile):
            return f'the profile {profile} did: `memrepro why --profile {profile} "{name}"`'
    for pattern, answer in _BY_REASON:
        if found := re.search(pattern, reason):
            return answer.format(own=name.profile, reason=reason, **found.groupdict())
    return "nothing that is planned here; the note says why"


def _has_number(name: tables.Name, profile: str) -> bool:
    try:
        known = tables.cells(profile, name.paper, name.table)
    except MemreproError:
        return False
    cell = known.get((name.row, name.column))
    return cell is not None and bool(cell.reproduced)
