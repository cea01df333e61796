"""Entries of `reading` in params.yaml as reading studies: grids, and every name a known one."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from memrepro.errors import MemreproError, cut
from memrepro.files.checked import checked
from memrepro.read.plan import FIELDS, Condition, ReadingStudy
from memrepro.study import grids
from memrepro.study.plan import DatasetEntry, Experiment, StudyEntry, named


def reading_studies(
    entries: Mapping[str, Any],
    datasets: Mapping[str, DatasetEntry],
    runs: Mapping[str, Experiment],
    models: Collection[str],
) -> dict[str, ReadingStudy]:
    """The reading studies by name; an entry is written like a study, its runs as `conditions`.

    Raises:
        MemreproError: naming the entry, for an unknown key, data set, run, setting or model, or
            settings that do not go together.
    """
    found = {}
    for name, entry in entries.items():
        where = f"params.yaml: reading.{name}"
        if not isinstance(entry, Mapping) or "conditions" not in entry:
            raise MemreproError(f"{where} must be a mapping with conditions")
        renamed = {"runs" if key == "conditions" else key: value for key, value in entry.items()}
        made = checked(StudyEntry, where, renamed)
        conditions = {
            key: _condition(f"{where}.conditions.{key}", said, runs, models)
            for key, said in grids.runs(made, f"reading.{name}")
        }
        keys = {one.dataset for one in conditions.values()}
        profiles = [named("data set", datasets, key).profile for key in sorted(keys)]
        found[name] = ReadingStudy(name, made.profile, "".join(profiles[:1]), conditions)
    return found


def _condition(
    where: str,
    said: Mapping[str, Any],
    runs: Mapping[str, Experiment],
    models: Collection[str],
) -> Condition:
    # The setting of a sweep is a text, whatever else it could be.
    texts = {"setting": str(said["setting"])} if "setting" in said else {}
    made = checked(Condition, where, {**said, **texts})
    if strange := set(said) - FIELDS:
        raise MemreproError(f"{where} sets {strange.pop()!r}, which follows from its run")
    for model in filter(None, (made.model, made.judge)):
        if model not in models:
            raise MemreproError(
                f"{where} names the language model {model!r}: known are {', '.join(models)}"
            )
    if made.run:
        if made.granularity:
            raise MemreproError(f"{where} sets the granularity, which follows from its run")
        run = named("experiment", runs, made.run)
        variants = run.variants()
        if run.dataset != made.dataset or made.setting not in variants:
            raise MemreproError(
                f"{where} reads {made.run!r} at the setting {cut(made.setting, 60)!r} on "
                f"{made.dataset}: that run is on {run.dataset} and has the settings "
                f"{cut(', '.join(variants) or 'none')}"
            )
        level = variants[made.setting].granularity
        made = replace(made, granularity=level, run_profile=run.profile)
    made.check(where)
    return made
