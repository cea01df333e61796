"""What a table's or claim's data say of a cell: merged, and their templates filled in.

A spec is a mapping. Those of the study, the table, the row and the column are laid over each other,
the later ones on top; a string may name any other entry as `{entry}`, the experiment that a run is
planned as by `{planned.…}`, and its parameters in words by `{planned_parameters}`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from memrepro.errors import MemreproError
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource
from memrepro.study.params import Experiment

Spec = Mapping[str, Any]
_NUMBER = r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?"
_METRIC = re.compile(r"(\w+)@(\d+)")
_PLANNED = "{planned"
_DEPTH = 4  # a template may name another one so often
_NESTED = ("before", "minus")
_RAW = "as written"  # a filled spec, before its templates were filled in


def as_spec(entry: Any, named: Mapping[str, Spec]) -> dict[str, Any]:
    """An entry of the data as a spec: a name of `runs`, the name of a run, or a mapping.

    Args:
        entry: a string, a mapping (whose `as` may be a name), or None.
        named: the entries of `runs`.
    """
    if entry is None:
        return {}
    if isinstance(entry, str):
        return dict(named[entry]) if entry in named else {"run": entry}
    spec = dict(entry)
    if "as" in spec:
        name = spec.pop("as")
        if name not in named:
            raise MemreproError(f"`as: {name}`: no such entry in `runs`")
        spec = {**named[name], **spec}
    return spec


def as_specs(entries: Any, named: Mapping[str, Spec]) -> list[tuple[str, dict[str, Any]]]:
    """Rows or columns: label → spec; a list names entries of `runs` or metrics such as `ndcg@5`."""
    if isinstance(entries, Mapping):
        return [(str(label), as_spec(entry, named)) for label, entry in entries.items()]
    return [(str(one), dict(named.get(one, {}))) for one in entries or ()]


def metric_of(label: str) -> dict[str, Any]:
    """The metric and k that a column's label names, such as `recall_all@5`."""
    found = _METRIC.search(label)
    return {"metric": found[1], "k": int(found[2])} if found else {}


def loops(over: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every choice of one value an entry, the last varying fastest; a mapping sets several."""
    for values in product(*over.values()):
        choice: dict[str, Any] = {}
        for name, value in zip(over, values, strict=True):
            choice |= value if isinstance(value, Mapping) else {name: value}
        yield choice


def fill(text: str, spec: Spec) -> str:
    """A template with the spec's entries in it.

    Raises:
        MemreproError: if it names an entry that the spec lacks.
    """
    for _ in range(_DEPTH):
        if "{" not in text:
            break
        try:
            text = text.format_map(spec)
        except (KeyError, AttributeError, IndexError, ValueError) as error:
            known = ", ".join(sorted(spec))
            raise MemreproError(f"template {text!r}: {error} is none of {known}") from error
    return text


def filled(spec: Spec, planned: Mapping[str, Experiment]) -> dict[str, Any]:
    """A spec with its templates filled in; those of a run that is not planned stay."""
    spec = {**spec, _RAW: spec}
    if isinstance(spec.get("run"), str):
        spec["run"] = fill(spec["run"], spec)
    if spec.get("run") in planned:
        one = planned[spec["run"]]
        spec["planned"] = one
        spec["planned_parameters"] = ", ".join(
            f"{k} {value}" for k, value in one.parameters.items()
        )
    for key, value in spec.items():
        if isinstance(value, str) and not (_PLANNED in value and "planned" not in spec):
            spec[key] = fill(value, spec)
    return spec


def beside(spec: Spec, key: str, named: Mapping[str, Spec]) -> dict[str, Any] | None:
    """The spec of what a cell is compared with, under `before` or `minus`; None without one."""
    if not spec.get(key):
        return None
    rest = {name: value for name, value in spec.get(_RAW, spec).items() if name not in _NESTED}
    return {**rest, **as_spec(spec[key], named)}


def place_of(spec: Spec) -> RunSource:
    """Where a filled spec's values lie.

    Raises:
        MemreproError: if it names no run, level, metric or k.
    """
    lacking = [name for name in ("run", "level", "metric", "k") if not spec.get(name)]
    if lacking:
        raise MemreproError(f"a cell of {spec.get('run') or 'no run'} lacks {', '.join(lacking)}")
    return RunSource(
        str(spec["run"]), str(spec.get("setting") or ""), str(spec["level"]), str(spec["metric"]),
        int(spec["k"]), str(spec.get("kind") or ""),
    )  # fmt: skip


def why_not(runs: Runs, spec: Spec) -> str:
    """Why a filled spec has no values, as its data say or the runs; '' where it has."""
    # A row that says why no run of it is planned is run as soon as one is.
    if not spec.get("run") or (spec.get("why") and spec["run"] not in runs.planned):
        return str(spec.get("why", ""))
    return runs.why_not(str(spec["run"]), str(spec.get("setting") or ""))


def spell(setting: str, rules: Sequence[Sequence[str]]) -> str:
    """A setting by the first rule whose pattern fits the whole of it; else a number in short."""
    for pattern, replacement in rules:
        if re.fullmatch(pattern, setting):
            return re.sub(pattern, replacement, setting)
    return f"{float(setting):g}" if re.fullmatch(_NUMBER, setting) else setting
