"""Grids of `params.yaml`: a study's runs, each name with the settings that it stands for.

`rfmem-{encoder}-recollection-{k}: recollection traced=true` is a run for each entry of the axes
`encoder` and `k`, in the order in which the name has them. Settings are `name=value` words; lists
have commas. A word without `=` is one of the study's sets of settings.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memrepro.errors import MemreproError
from memrepro.study.plan import StudyEntry

_AXIS = re.compile(r"\{([^{}]*)\}")
_LISTS = ("values", "dates")


def expand(name: str) -> list[str]:
    """`a-{b,c}` as `a-b` and `a-c`; a name without braces is itself."""
    found = _AXIS.search(name)
    if not found:
        return [name]
    before, after = name[: found.start()], name[found.end() :]
    return [one for value in found[1].split(",") for one in expand(before + value + after)]


def settings(text: object, where: str, sets: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a text such as `design k=10 values=0.1, 0.2`: its sets', then its own.

    Raises:
        MemreproError: if it is no text, names no set, or says something twice.
    """
    if not isinstance(text, str):
        raise MemreproError(f"params.yaml: {where} is {text!r}: it must be text, name=value …")
    found: dict[str, Any] = {}
    own: dict[str, Any] = {}
    # A comma goes on with the next word.
    for word in re.sub(r",\s+", ",", text).split():
        name, equals, value = word.partition("=")
        if not equals:
            if word not in (sets or {}):
                known = ", ".join(sets or {}) or "none"
                raise MemreproError(
                    f"params.yaml: {where} has {word!r}, which is neither name=value nor one of "
                    f"the study's sets: known are {known}"
                )
            found |= settings((sets or {})[word], f"{where}, set {word}")
        elif name in own:
            raise MemreproError(f"params.yaml: {where} sets {name!r} twice")
        else:
            own[name] = _list(value) if name in _LISTS else _value(value)
    return found | own


def _list(text: str) -> tuple[Any, ...]:
    return tuple(map(_value, text.split(",")))


def _value(text: str) -> Any:
    """A whole number, a fraction, true or false, or else text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text, text)


def runs(study: StudyEntry, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each run of a study and its settings, grids as their runs.

    Settings are the study's `base`, the run's sets, its axes and its own, each over those before.
    An axis does not set what a sweep varies, and a value of a sweep over key schemes that begins
    with + is added to the run's own.

    Raises:
        MemreproError: if a name has no such axis, or a setting cannot be read.
    """
    base = settings(study.base, f"{where}.base")
    sets, axes = study.sets, study.axes
    for template, text in study.runs.items():
        at = f"{where}.runs.{template}"
        names = _AXIS.findall(template)
        if strange := sorted(set(names) - set(axes)):
            raise MemreproError(
                f"params.yaml: {at} has the axis {strange[0]!r}: known are {', '.join(axes)}"
            )
        if set("{}") & set(_AXIS.sub("", template)):
            raise MemreproError(f"params.yaml: {at} has a brace that opens or closes no axis")
        own = settings(text, at, sets)
        said = settings(_without_sets(text), at)
        for labels in itertools.product(*(axes[name] for name in names)):
            chosen: dict[str, Any] = {}
            for name, label in zip(names, labels, strict=True):
                chosen |= settings(axes[name][label], f"{where}.axes.{name}.{label}")
            chosen.pop(str(said.get("vary", own.get("vary", ""))), None)
            made = base | own | chosen | said
            if made.get("vary") == "key_scheme":
                made["values"] = tuple(_schemes(made, at))
            yield template.format(**dict(zip(names, labels, strict=True))), made


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


def _without_sets(text: object) -> str:
    """The words of a text that are no sets."""
    return " ".join(w for w in re.sub(r",\s+", ",", str(text)).split() if "=" in w)
