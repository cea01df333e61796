"""evaluate: every run of a profile against the qrels; the only stage that reads them."""

from collections.abc import Mapping

import pandas as pd

from memrepro import paths
from memrepro.errors import MemreproError
from memrepro.experiment import Experiment, Plan, load_plan
from memrepro.memory import Parts
from memrepro.metrics import evaluate
from memrepro.prepared import load_qrels
from memrepro.stages.done import Done
from memrepro.store import read_table, write_table

METRIC_COLUMNS = [
    "experiment", "setting", "granularity", "query_id", "kind", "metric", "k", "value",
]  # fmt: skip


def gold_of(plan: Plan, experiment: Experiment) -> tuple[dict[str, str], dict[str, Parts]]:
    """The kinds of all queries of an experiment's data set, and the gold at its granularity."""
    profile = plan.dataset(experiment.dataset).profile
    return load_qrels(paths.qrels(profile, experiment.dataset), experiment.granularity)


def exclusions(
    kinds: Mapping[str, str], gold: Mapping[str, Parts], excluded_kinds: Mapping[str, str]
) -> dict[str, str]:
    """Each query that is not evaluated, with the reason."""
    reasons = {q: excluded_kinds[kind] for q, kind in kinds.items() if kind in excluded_kinds}
    return reasons | {
        q: "no doc of this granularity is marked as its evidence"
        for q in kinds
        if q not in gold and q not in reasons
    }


def evaluate_run(
    name: str, experiment: Experiment, run: pd.DataFrame, plan: Plan
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Per-question metrics of one experiment or sweep, and the excluded questions.

    A cut-off beyond a ranking's length would call a short list a bad one, so that those above
    the retriever's k are left out; a sweep is evaluated at its k alone.
    """
    kinds, gold = gold_of(plan, experiment)
    _check_whole(name, experiment, run, kinds)
    left_out = exclusions(kinds, gold, plan.evaluation.excluded_kinds)
    wanted = {query_id: parts for query_id, parts in gold.items() if query_id not in left_out}
    depth = experiment.parameters["k"]
    ks = [depth] if experiment.vary else [k for k in plan.evaluation.ks if k <= depth]
    blocks = []
    for setting in experiment.settings():
        part = run[run["setting"] == setting] if setting else run
        block = evaluate(part, wanted, plan.evaluation.metrics, ks)
        block.insert(0, "experiment", name)
        block.insert(1, "setting", setting)
        block.insert(2, "granularity", experiment.granularity)
        block.insert(4, "kind", block["query_id"].map(kinds))
        blocks.append(block)
    return pd.concat(blocks, ignore_index=True)[METRIC_COLUMNS], left_out


def _check_whole(
    name: str, experiment: Experiment, run: pd.DataFrame, kinds: Mapping[str, str]
) -> None:
    """Refuse a run that is cut short, or was made for other questions or settings."""
    for setting in experiment.settings():
        asked = set(run.loc[run["setting"] == setting, "query_id"] if setting else run["query_id"])
        if asked != set(kinds):
            odd = sorted(asked ^ set(kinds))
            where = f"{name} at {setting}" if setting else name
            raise MemreproError(
                f"the run {where} ranks docs for {len(asked)} questions, and {experiment.dataset} "
                f"has {len(kinds)}; the first that differs is {odd[0]!r}: it is cut short or of "
                "another edition; delete it and run `dvc repro` again"
            )


def evaluate_profile(profile: str, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Metrics and exclusions of every run of a profile, from the runs and qrels alone."""
    tables: list[pd.DataFrame] = []
    ledger: dict[tuple[str, str, str], str] = {}
    for group, path in ((plan.experiments, paths.run), (plan.sweeps, paths.sweep)):
        for name, experiment in group.items():
            if experiment.profile == profile:
                run = read_table(path(profile, name))
                table, left_out = evaluate_run(name, experiment, run, plan)
                tables.append(table)
                where = (experiment.dataset, experiment.granularity)
                ledger.update({(*where, query_id): why for query_id, why in left_out.items()})
    rows = [(*key, why) for key, why in ledger.items()]
    columns = ["dataset", "granularity", "query_id", "reason"]
    return pd.concat(tables, ignore_index=True), pd.DataFrame(rows, columns=columns)


def run(profile: str) -> Done:
    """Write a profile's per-question metrics and its ledger of excluded questions."""
    plan = load_plan()
    plan.check_profile(profile)
    metrics, ledger = evaluate_profile(profile, plan)
    write_table(paths.metrics(profile), metrics)
    write_table(paths.exclusions(profile), ledger)
    plain = metrics[(metrics["setting"] == "") & (metrics["metric"].isin(["recall_all", "ndcg"]))]
    summary = plain.pivot_table(index="experiment", columns=["metric", "k"], values="value")
    folder = paths.results(profile)
    inputs = sorted(p for sub in ("runs", "qrels") for p in (folder / sub).rglob("*.parquet"))
    outputs = [paths.metrics(profile), paths.exclusions(profile)]
    return Done(f"evaluate {profile}", summary.round(4), inputs, outputs)
