"""The real files, prepared again: gold, places, times, lengths and counts come out as committed."""

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


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_is_prepared_to_what_is_committed(name, tmp_path, monkeypatch):
    plan, committed = load_plan(), root()
    if not all(any(mirror_copies(file, MIRROR)) for file in registration(name).files):
        pytest.skip(f"no mirror with {name}: {MIRROR} lacks its files")
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    for stage in (download, prepare, extract):
        monkeypatch.setattr(stage, "load_plan", lambda: plan)
    monkeypatch.setenv("MEMREPRO_MIRROR", str(MIRROR))
    download.run(name)
    outputs = [
        *prepare.run(name).outputs,
        *(extract.run(name).outputs if name in EXTRACTED else ()),
    ]
    made = [path for path in outputs if path.is_relative_to(tmp_path / "results")]
    assert len(made) >= 7
    for path in made:
        kept = read_table(committed / path.relative_to(tmp_path))
        pd.testing.assert_frame_equal(read_table(path), kept, obj=f"{name}: {path.name}")
