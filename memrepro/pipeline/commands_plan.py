"""The command that says what a profile takes before anything of it runs."""

import argparse
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.files.atomic import root
from memrepro.pipeline.printing import Add, print_json, print_table
from memrepro.study.plan import PROFILES


def add_to(add: Add) -> None:
    """Add the command to the parser."""
    plan = add(
        "plan", _plan,
        more="It runs nothing and fetches nothing. A price file is that of `read --plan`. Exit "
        "status 1: something cannot be had here, or does not fit.",
    )  # fmt: skip
    plan.add_argument("profile", choices=PROFILES)
    plan.add_argument("--device", choices=["cpu", "cuda"], help="that encoders run on")
    plan.add_argument("--prices", type=Path, metavar="FILE", help="also what calls cost")


def _plan(arguments: argparse.Namespace) -> int:
    found = planned(arguments.profile, arguments.device, arguments.prices)
    if arguments.json:
        print_json(found)
    else:
        _show(found)
    return 1 if found["unavailable"] else 0


def planned(profile: str, device: str | None, prices: Path | None = None) -> dict[str, Any]:
    """All that the command says, by table: lists of rows, and the `total`.

    Raises:
        MemreproError: if dvc.yaml, params.yaml or the price file cannot be read, or what would run
            is not described.
    """
    from memrepro.encode.models import cache_folder
    from memrepro.llm.prices import read_prices
    from memrepro.pipeline.plan import answers, downloads, embedding, stages
    from memrepro.study.params import load_plan

    plan = load_plan()
    device = device or ("cuda" if _has_gpu() else "cpu")
    line = stages.stages_of(root(), stages.last_stage(profile))
    ahead = [stage for stage in line if stage.state != stages.DONE]
    groups = stages.by_group(line)
    jobs = [job for stage in ahead for job in stage.embeds]
    encoders = dict.fromkeys(
        encoder for profile_, dataset in jobs for encoder in plan.keys(profile_, dataset)
    )
    files = [one for stage in ahead for key in stage.datasets for one in downloads.of_dataset(key)]
    weights = {name: downloads.of_encoder(name, device) for name in encoders}
    present = [name for name, one in weights.items() if one.source == downloads.HERE]
    store = cache_folder() / "embeddings.sqlite"
    works = embedding.works_of(jobs, plan, device, present, store)
    calls = answers.calls_of(plan, profile, read_prices(prices) if prices else {})
    reads = any(f" read {profile}" in stage.command for stage in ahead)
    models = [
        downloads.of_language_model(name, plan.models[name])
        for name in dict.fromkeys(calls.loc[calls["left"] > 0, "model"])
    ]
    fetched = [*files, *weights.values(), *models]

    embeds = [
        asdict(work) | {
            "hours on a CPU": embedding.seconds(work, "cpu") / 3600,
            "hours on a GPU": embedding.seconds(work, "cuda") / 3600,
        }
        for work in works
    ]  # fmt: skip
    vectors = sum(embedding.vector_bytes(work) for work in works)
    memory = [int(groups["memory"].max()), *(2 * one.bytes + 10**9 for one in weights.values())]
    hours = {
        "stages": float(groups["minutes"].sum()) / 60,
        "encoders": sum(
            row[f"hours on a {'GPU' if device == 'cuda' else 'CPU'}"] for row in embeds
        ),
        "language models": answers.hours(calls) if reads else 0.0,
    }
    total = {
        "stages to run": len(ahead), "stages done": len(line) - len(ahead),
        "stages without a time": int(groups["not measured"].sum()),
        "hours": sum(hours.values()), "hours by": hours,
        "bytes to fetch": sum(d.bytes for d in fetched if d.source != downloads.HERE),
        "disk": sum(d.disk for d in fetched) + vectors + answers.recorded_bytes(calls),
        "disk free": shutil.disk_usage(root()).free,
        "memory": max(memory), "memory here": _memory(),
        "texts to embed": sum(work.left for work in works),
        "calls left": int(calls["left"].sum()), "asked by repro": reads,
    }  # fmt: skip
    if "currency" in calls:
        total["cost"] = calls.groupby("currency")[["low", "high"]].sum().to_dict("index")
    unavailable = downloads.unavailable(fetched)
    for item, remedy in (("disk", "free some"), ("memory", "take another machine")):
        room = total["disk free" if item == "disk" else "memory here"]
        if total[item] > room:
            why = f"{_bytes(total[item])} are needed, and {_bytes(room)} are there"
            unavailable.append({"item": item, "host": "", "why": why, "remedy": remedy})
    return {
        "profile": profile, "device": device,
        "gpu": stages.facts()["gpu"],
        "stages": groups.to_dict("records"), "embedding": embeds,
        "downloads": [asdict(one) for one in fetched],
        "language models": calls.astype(object).where(calls.notna(), None).to_dict("records"),
        "unavailable": unavailable, "total": total,
    }  # fmt: skip


def _has_gpu() -> bool:
    """Whether torch sees one."""
    import torch

    return bool(torch.cuda.is_available())


def _memory() -> int:
    """The machine's, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _show(found: Mapping[str, Any]) -> None:
    """Tables for people, and a sentence."""
    total = found["total"]
    _table(
        "Stages",
        found["stages"],
        ["stages", "all", "done", "run", "may run", "not measured", "minutes"],
    )
    _table("Texts to embed", found["embedding"], [
        "profile", "dataset", "encoder", "texts", "cached", "tokens", "hours on a CPU",
        "hours on a GPU", "source"])  # fmt: skip
    there = [one for one in found["downloads"] if one["bytes"]]
    _table("Downloads", there, ["item", "source", "bytes"])
    _table("Language models", found["language models"], list((found["language models"] or [{}])[0]))
    _table("What cannot be had here", found["unavailable"], ["item", "host", "why", "remedy"])
    parts = ", ".join(f"{name} {hours:.2f}" for name, hours in total["hours by"].items())
    print(
        f"{found['profile']}: {total['stages to run']} stages to run "
        f"({total['stages done']} done, {total['stages without a time']} never timed), "
        f"about {total['hours']:.2f} hours on {found['device']} ({parts}, where it was measured), "
        f"{_bytes(total['bytes to fetch'])} to fetch, {_bytes(total['disk'])} of disk "
        f"({_bytes(total['disk free'])} free), {_bytes(total['memory'])} of memory "
        f"({_bytes(total['memory here'])} here), {total['texts to embed']} texts to embed, "
        f"{total['calls left']} calls of language models"
        f"{'' if total['asked by repro'] or not total['calls left'] else ' (by `memrepro read`)'}"
        f"{_cost(total)}."
    )


def _cost(total: Mapping[str, Any]) -> str:
    return "".join(
        f" ({one['low']:.2f} to {one['high']:.2f} {currency})"
        for currency, one in total.get("cost", {}).items()
    )


def _table(heading: str, rows: list[dict[str, Any]], columns: list[str]) -> None:
    if rows:
        frame = pd.DataFrame(rows)[columns]
        frame["bytes"] = frame["bytes"].map(_bytes) if "bytes" in frame else None
        frame = frame.dropna(axis="columns", how="all")
        print(f"{heading}\n")
        print_table(frame.astype(object).where(frame.notna(), "not known").map(_short))
        print()


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.1f}" if value >= 10 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else value


def _bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1000:.0f} kB"
