"""Grids of `params.yaml`: a study's runs, each name with the settings that it stands for.

`rfmem-{encoder}-recollection-{k}: {use: [recollection], traced: true}` is a run for each entry of
the axes `encoder` and `k`, in the order in which the name has them. `use` names sets of settings of
the study.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memrepro.errors import MemreproError
from memrepro.study.plan import StudyEntry

_AXIS = re.compile(r"\{([^{}]*)\}")
_USE = "use"


def expand(name: str) -> list[str]:
    """`a-{b,c}` as `a-b` and `a-c`; a name without braces is itself."""
    found = _AXIS.search(name)
    if not found:
        return [name]
    before, after = name[: found.start()], name[found.end() :]
    return [one for value in found[1].split(",") for one in expand(before + value + after)]


def runs(study: StudyEntry, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each run of a study and its settings, grids as their runs.

    Settings are the study's `base`, the run's sets, its axes and its own, each over those before.
    An axis does not set what a sweep varies, and a value of a sweep over key schemes that begins
    with + is added to the run's own.

    Raises:
        MemreproError: if a run is no mapping, or names an axis or set that the study lacks.
    """
    axes = study.axes
    for template, entry in study.runs.items():
        at = f"{where}.runs.{template}"
        names = _AXIS.findall(template)
        if strange := sorted(set(names) - set(axes)):
            raise MemreproError(
                f"params.yaml: {at} has the axis {strange[0]!r}: known are {', '.join(axes)}"
            )
        if set("{}") & set(_AXIS.sub("", template)):
            raise MemreproError(f"params.yaml: {at} has a brace that opens or closes no axis")
        used, own = _used_and_own(entry, at, study.sets)
        varied = str(own.get("vary", used.get("vary", "")))
        for labels in itertools.product(*(axes[name] for name in names)):
            chosen: dict[str, Any] = {}
            for name, label in zip(names, labels, strict=True):
                chosen |= axes[name][label]
            chosen.pop(varied, None)
            made = {**study.base, **used, **own, **chosen, **own}
            if made.get("vary") == "key_scheme":
                made["values"] = list(_schemes(made, at))
            yield template.format(**dict(zip(names, labels, strict=True))), made


def _used_and_own(
    entry: object, at: str, sets: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of the sets that a run uses, later ones over earlier, and the run's own."""
    if not isinstance(entry, Mapping):
        raise MemreproError(
            f"params.yaml: {at} is {entry!r}: it must map settings to values, such as {{k: 10}}"
        )
    own, used = dict(entry), dict[str, Any]()
    names = own.pop(_USE, [])
    if not isinstance(names, list):
        raise MemreproError(f"params.yaml: {at} uses {names!r}: write a list, [{names}]")
    for name in names:
        if name not in sets:
            raise MemreproError(
                f"params.yaml: {at} uses {name!r}, which is none of the study's sets: known are "
                f"{', '.join(sets) or 'none'}"
            )
        used |= sets[name]
    return used, own


def _schemes(made: Mapping[str, Any], at: str) -> Iterator[str]:
    """The key schemes of a sweep, those that begin with + added to the run's own."""
    if not made.get("values"):
        raise MemreproError(f"params.yaml: {at} varies key_scheme and gives no values of it")
    for value in map(str, made["values"]):
        if value.startswith("+") and "key_scheme" not in made:
            raise MemreproError(
                f"params.yaml: {at} adds {value!r} to a key_scheme that is not given"
            )
        yield f"{made['key_scheme']}{value}" if value.startswith("+") else value
