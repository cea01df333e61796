"""The tiered store's latency as a table, and words beside claims."""

import pandas as pd

from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.papers.tiered import latency
from memrepro.papers.tiered.analysis import half_life

SCALE = [
    "store", "segments", "step", "p50_ms", "p95_ms", "ingest_s_per_1000", "memory_mb", "disk_mb",
]  # fmt: skip


def test_latency(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    (absent,) = latency.latency("sample")
    assert absent.verdict == "not run"
    rows = [
        ("tiered", size, step, time, 2 * time, 1.5, 100.0, 12.0)
        for size in (1000, 10000)
        for step, time in (("hot", 0.1), ("warm", size / 1000), ("cold", 2.0))
    ]
    path = paths.latency("sample", "tiered-scale", ".parquet")
    write_table(path, pd.DataFrame(rows, columns=SCALE))
    cells = {(c.row, c.column): c for c in latency.latency("sample")}
    shown = cells["tiered, warm", "10000 segments, p50 / p95 ms"]
    assert shown.reproduced == "10.00 / 20.00"
    assert shown.sources == "file latency/tiered-scale.parquet"
    assert "12.0 MB" in cells["tiered, weight", "1000 segments, p50 / p95 ms"].reproduced


def test_half_lives_of_settings():
    assert half_life({"setting": "0.0"}) == "no decay"
    assert half_life({"setting": "0.01"}) == "69.0 h = 2.9 days"
    assert half_life({"setting": "1.0"}).startswith("0:")
