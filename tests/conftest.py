"""What holds for all tests."""

import gc
import os
import ssl
from dataclasses import replace
from functools import cache

# Workers run side by side, one a core; a small model waits for its threads rather than works.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# What is imported at collection stays to the end, and is not looked through for what may go.
gc.disable()

# How long an example takes belongs to the machine, and each run has the same examples.
settings.register_profile(
    "tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")


@pytest.fixture(scope="session")
def metrics_of_rfmem(tmp_path_factory):
    """Metrics of RF-Mem's committed runs by mpnet; those of all runs take a minute to make."""
    from pyarrow.parquet import write_table

    from memrepro.study.evaluation import evaluate_profile
    from memrepro.study.params import load_plan

    def chosen(runs):
        return {name: one for name, one in runs.items() if name.startswith("rfmem-mpnet-")}

    plan = load_plan()
    plan = replace(plan, experiments=chosen(plan.experiments), sweeps=chosen(plan.sweeps))
    path = tmp_path_factory.mktemp("metrics") / "open.parquet"
    write_table(evaluate_profile("open", plan).metrics, path)
    return path


@pytest.fixture(scope="session", autouse=True)
def patience():
    """A memory's encoder may be slow here, but where a test gives it less than 0.25 s."""
    from memrepro.memory.limited import Limited

    run = Limited.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Limited, "run", lambda self, work, t: run(self, work, t if t < 0.25 else 3600)
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates():
    """A client of an endpoint reads them for 50 ms, twice: they are read once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


def pytest_collection_modifyitems(items):
    """Put files with slow tests first, so that at the end no worker waits for another's."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish():
    """Collect garbage again, of what the tests themselves make."""
    gc.freeze()
    gc.enable()
