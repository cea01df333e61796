"""Metrics files as `evaluate` writes them, from one row a question."""

from collections import defaultdict

import pyarrow.parquet as pq

from memrepro.study.evaluation import Measured, metrics_table

COLUMNS = ["experiment", "setting", "level", "query_id", "kind", "metric", "k", "value"]


def write_metrics(path, rows):
    """Write rows of `COLUMNS`; what does not say what it was made from."""
    found = defaultdict(list)
    for experiment, setting, level, query_id, kind, metric, k, value in rows:
        found[experiment, setting, level, metric, k].append((query_id, kind, value))
    measured = [Measured(*key, *zip(*own, strict=True)) for key, own in found.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(metrics_table(measured), path)


def long(table):
    """A metrics table as one row a question."""
    frame = table.to_pandas()
    frame[["query_id", "kind"]] = frame[["query_id", "kind"]].ffill()
    return frame.explode(["query_id", "kind", "value"], ignore_index=True)
