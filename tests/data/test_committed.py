"""The real files, prepared again: gold, places, times, lengths and counts come out as committed."""

from dataclasses import replace

import pandas as pd
import pytest

from memrepro.data.fetch import mirror_copies
from memrepro.data.registry import registration
from memrepro.files import paths
from memrepro.files.atomic import read_table, root
from memrepro.pipeline.stages.data import download, extract, prepare
from memrepro.study.params import load_plan
from tests.data.gathered import MIRROR

NAMES = (
    "sample", "locomo", "locomo-mteb", "personabench-n00", "personabench-n03",
    "personabench-fields", "personamem-32k", "longmemeval-oracle",
)  # fmt: skip
EXTRACTED = ("locomo",)  # the others' take minutes
BY_NLP = ("conv-26", "conv-30")  # which alone takes 8 s of a processor for all ten


def parts(dataset):
    """The conversations of `BY_NLP`."""
    queries = tuple(q for q in dataset.queries if q.memory_id in BY_NLP)
    memories = {name: dataset.memories[name] for name in BY_NLP}
    return replace(dataset, memories=memories, queries=queries)


def made_again(table):
    """A table without what `nlp` finds in other conversations."""
    (name, *_) = [one for one in ("source", "level") if one in table] or [None]
    if name is None:
        return table
    left_out = table[name].str.startswith("nlp")
    if "memory_id" in table:
        left_out &= ~table["memory_id"].isin(BY_NLP)
    return table[~left_out].reset_index(drop=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_is_prepared_to_what_is_committed(name, tmp_path, monkeypatch):
    plan, committed = load_plan(), root()
    if not all(any(mirror_copies(file, MIRROR)) for file in registration(name).files):
        pytest.skip(f"no mirror with {name}: {MIRROR} lacks its files")
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    for stage in (download, prepare, extract):
        monkeypatch.setattr(stage, "load_plan", lambda: plan)
    by_nlp = extract.by_nlp
    monkeypatch.setattr(extract, "by_nlp", lambda given, kinds: by_nlp(parts(given), kinds))
    monkeypatch.setenv("MEMREPRO_MIRROR", str(MIRROR))
    download.run(name)
    outputs = [
        *prepare.run(name).outputs,
        *(extract.run(name).outputs if name in EXTRACTED else ()),
    ]
    made = [path for path in outputs if path.is_relative_to(tmp_path / "results")]
    assert len(made) >= 7
    for path in made:
        file = path.relative_to(tmp_path)
        both = (made_again(read_table(one / file)) for one in (tmp_path, committed))
        pd.testing.assert_frame_equal(*both, obj=f"{name}: {path.name}")
