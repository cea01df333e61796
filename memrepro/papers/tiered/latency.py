"""What the tiered store's steps take by tier and size, as a table."""

from collections.abc import Iterator

from memrepro.audit.documents import printed_rows
from memrepro.audit.verdicts import NOT_IN_PAPER, NOT_RUN
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.sources import FileSource
from memrepro.report.tables import Cell

_FALLBACK = printed_rows("tiered", "parameters")["fallback, time of the vector search"]
_TIMEOUT = float(_FALLBACK["printed"].removesuffix("ms"))
_NAME, _USERS = "tiered-scale", "tiered-users"


def latency(profile: str) -> Iterator[Cell]:
    """Median and 95th percentile of each step by the number of segments; what a store weighs."""
    path = paths.latency(profile, _NAME, ".parquet")
    if not path.is_file():
        why = "results/<profile>/latency/tiered-scale.parquet is not there: it has not been run"
        yield Cell("every step", "p50 / p95 ms", "latency", "", "", 0, NOT_RUN, note=why)
        return
    table = read_table(path)
    note = (
        f"the document's chain falls back after {_TIMEOUT:.0f} ms of vector search; a measurement "
        "of one machine"
    )
    source = str(FileSource(f"latency/{_NAME}.parquet"))
    steps = [
        (f"{x.store}, {x.step}", x.segments, "latency", f"{x.p50_ms:.2f} / {x.p95_ms:.2f}")
        for x in table.itertuples()
    ]
    weights = [
        (f"{x.store}, weight", x.segments, "size", f"{x.ingest_s_per_1000:.2f} s per 1,000 taken "
         f"in; {x.memory_mb:.0f} MB in memory; {x.disk_mb:.1f} MB")
        for x in table.drop_duplicates(["store", "segments"]).itertuples()
    ]  # fmt: skip
    for row, segments, metric, text in steps + weights:
        column = f"{segments} segments, p50 / p95 ms"
        yield Cell(row, column, metric, "", text, 0, NOT_IN_PAPER, note=note, sources=source)
    yield from _of_users(profile)


def _of_users(profile: str) -> Iterator[Cell]:
    """What asking one of many users takes, each with a folder, and what a user weighs."""
    path = paths.latency(profile, _USERS, ".parquet")
    if not path.is_file():
        why = f"results/<profile>/latency/{_USERS}.parquet is not there: it has not been run"
        yield Cell("one of many users", "p50 / p95 ms", "latency", "", "", 0, NOT_RUN, note=why)
        return
    source, table = str(FileSource(f"latency/{_USERS}.parquet")), read_table(path)
    for n, x in zip(table["n"].tolist(), table.itertuples(), strict=True):
        row, column = f"one of {x.users:,} users: {x.step}", f"{x.segments} segments, p50 / p95 ms"
        text = f"{x.p50_ms:.2f} / {x.p95_ms:.2f}"
        yield Cell(row, column, "latency", "", text, n, NOT_IN_PAPER, sources=source)
    for x in table.drop_duplicates(["users", "segments"]).itertuples():
        row, column = f"one of {x.users:,} users: weight", f"{x.segments} segments, p50 / p95 ms"
        text = (
            f"{x.disk_mb:.2f} MB and {x.files:.0f} files; open: {x.open_mb:.2f} MB in memory and "
            f"{x.open_files:.1f} files"
        )
        yield Cell(row, column, "size", "", text, 1, NOT_IN_PAPER, sources=source)
