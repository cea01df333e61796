"""measure and finetune: what belongs to a machine, and is no stage of the line.

Measurements go to `build/<profile>/measured/`. Reports read those that are published, in
`results/<profile>/latency/`, which only `--publish` changes.
"""

import importlib
import shutil
from pathlib import Path

import pandas as pd

from memrepro.files import paths
from memrepro.files.atomic import read_yaml, replacing, root
from memrepro.study import latency
from memrepro.study.params import load_plan
from memrepro.study.plan import named
from memrepro.study.result import StageResult


def measure(name: str, publish: bool) -> tuple[StageResult, list[Path]]:
    """Measure an entry of `latency` or `scales`.

    Returns:
        What was measured, and the published files, if any.

    Raises:
        MemreproError: if there is no entry of the name.
    """
    plan = load_plan()
    if name in plan.scales:
        scale = plan.scale(name)
        module = importlib.import_module(f"memrepro.papers.{scale.paper}.{scale.module}")
        done: StageResult = module.run(name)
        profile: str = scale.profile
    else:
        done, profile = latency.run(name), plan.timed(name).profile
    return done, [_publish(path, profile) for path in done.outputs] if publish else []


def _publish(path: Path, profile: str) -> Path:
    published = paths.latency(profile, path.stem, path.suffix)
    with replacing(published) as temporary:
        shutil.copyfile(path, temporary)
    return published


def finetune(name: str) -> pd.DataFrame:
    """Make the examples of an entry of `tuning`, tune on them, and say what came of it.

    Raises:
        MemreproError: if there is no entry of the name, or what it needs is not here.
    """
    entry = named("tuning", read_yaml(root() / "params.yaml").get("tuning") or {}, name)
    module = importlib.import_module(f"memrepro.papers.{entry.get('paper')}.tuning.stage")
    print(module.build_examples(name).to_string(index=False))
    summary: pd.DataFrame = module.tune(name)
    return summary
