"""What `bench.py` compares of whole programs: a reader, an encoder, a store."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench import NAN, ROOT, Work

from memrepro.errors import MemreproError

Texts = list[list[str]]
DIMENSION = 384


def words(number: int, length: int, seed: int) -> Texts:
    """Texts whose words fall as 1/rank."""
    rng, known = np.random.default_rng(seed), np.array([f"w{n}" for n in range(20_000)], object)
    bounds = np.cumsum(1 / np.arange(1, len(known) + 1))
    drawn = known[np.searchsorted(bounds / bounds[-1], rng.random((number, length)))]
    return [list(row) for row in drawn]


def preparing(size: int) -> Work:
    """A file in LongMemEval's schema, 5.6 MB a question: to its tables, or its JSON alone."""
    import prepare

    from memrepro.core.prepared import save, save_places, save_qrels
    from memrepro.data.longmemeval import stream

    folder = TemporaryDirectory()
    raw, number = Path(folder.name) / "raw", count()
    raw.mkdir()
    prepare.write(raw / "made.json", size, 475)

    def ours() -> int:
        out = Path(folder.name) / f"out{next(number)}"
        pieces = save_qrels(save(stream(raw, "made"), out), out / "qrels.parquet")
        return sum(len(piece.queries) for piece in save_places(pieces, out / "places.parquet"))

    def parsed() -> int:
        return len(json.loads((raw / "made.json").read_bytes()))

    return Work(ours, parsed, lambda mine, theirs: float(mine != theirs))


def encoding(size: int) -> Work:
    """Long texts through MiniLM: ours as it runs on a CPU, and sentence-transformers on torch."""
    from memrepro.encode.load import load_encoder
    from memrepro.encode.models import model_folder

    encoder: Any = load_encoder("all-minilm-l6-v2", device="cpu")
    from sentence_transformers import SentenceTransformer

    model: Any = SentenceTransformer(str(model_folder("all-minilm-l6-v2")), device="cpu")
    texts = [" ".join(one) for one in words(size, 220, 3)]
    most = model.max_seq_length
    ids = model.tokenizer(texts, truncation=True, max_length=most)["input_ids"]
    lengths = np.array([len(one) for one in ids])
    layers = sum(p.numel() for n, p in model.named_parameters() if "encoder.layer" in n)
    config = model[0].auto_model.config
    # A token passes each weight, and meets each token of its text twice in a layer.
    attention = 2 * config.num_hidden_layers * config.hidden_size * float((lengths**2).sum())
    flops = 2.0 * (layers * float(lengths.sum()) + attention)

    def apart(mine: np.ndarray, theirs: np.ndarray) -> float:
        most = float(np.abs(mine - theirs).max())
        return most if most > 1e-5 else 0.0

    return Work(
        lambda: encoder.encode(texts, "document"),
        lambda: model.encode(texts, normalize_embeddings=True, show_progress_bar=False),
        apart, flops=flops, kind="OpenVINO float32",
    )  # fmt: skip


def half_precision(size: int) -> Work:
    """Long texts through mpnet in bfloat16, and in float32; `embedding.py` has what it moves."""
    from memrepro.encode.load import load_encoder

    half, full = (load_encoder("all-mpnet-base-v2", device="cpu", dtype=dtype)
                  for dtype in ("bfloat16", "float32"))  # fmt: skip
    texts = [" ".join(one) for one in words(size, 220, 3)]
    return Work(lambda: half.encode(texts, "document"), lambda: full.encode(texts, "document"),
                lambda *_: NAN)  # fmt: skip


def stored(step: str, size: int) -> Work:
    """The tiered memory beside one LanceDB table of turns: segments added, or questions asked."""
    import lancedb
    import memory_scale as scale
    import pyarrow as pa

    folder, number = TemporaryDirectory(), count()
    known: dict[str, np.ndarray] = {}

    class Known(scale.Drawn):
        """The vectors are there, for both."""

        def encode(self, texts: Any, role: Any) -> np.ndarray:
            if new := [text for text in texts if text not in known]:
                known.update(zip(new, super().encode(new, role), strict=True))
            return np.array([known[text] for text in texts])

    vars(scale)["Drawn"] = Known
    if step == "search":
        scale.fill_tiered(Path(folder.name) / "ours", size)
        scale.fill_lancedb(Path(folder.name) / "peer", size)
        ours = scale.open_tiered(Path(folder.name) / "ours", size)["WARM, dense and BM25"]
        peer = scale.open_lancedb(Path(folder.name) / "peer", size)["search"]
        asked = scale.questions(20, 11)

        def each(search: Callable[[str], object]) -> None:
            assert folder.name  # which lasts as long as this
            for question in asked:
                search(question)

        return Work(lambda: each(ours), lambda: each(peer), lambda *_: NAN, clock=time.perf_counter)
    messages = [[m for segment in some for m in segment] for some in scale.segments(0, size)]
    turns = list(scale._turns(size))
    vector = pa.list_(pa.float32(), DIMENSION)
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("vector", vector)])

    def add() -> None:
        with scale.opened(Path(folder.name) / f"ours{next(number)}") as memory:
            for some in messages:
                memory.add(some)

    def add_to_lancedb() -> None:
        database = lancedb.connect(Path(folder.name) / f"peer{next(number)}")
        table: Any = database.create_table("turns", schema=schema)
        for ids, texts, vectors in turns:
            column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSION)
            table.add(pa.table({"id": ids, "text": texts, "vector": column}, schema=schema))

    return Work(add, add_to_lancedb, lambda *_: NAN, clock=time.perf_counter)


@cache
def million(size: int) -> Path:
    """A memory of so many segments, kept as long as the whole run."""
    import memory_scale as scale

    folder = Path(os.environ["BENCH_FOLDER"]) / str(size)
    if not folder.exists():
        scale.alone(scale.fill_tiered, folder, size)
    return folder


def opening(size: int) -> Work:
    """The memory opened, until its first answer."""
    import memory_scale as scale

    folder, (question, *_) = million(size), scale.questions(1, 11)

    def ours() -> None:
        with scale.opened(folder, mode="read") as memory:
            memory.search(question, size * scale.APART)

    return Work(ours, clock=time.perf_counter)


def one_search(size: int) -> Work:
    """One question after the other, none twice."""
    import memory_scale as scale

    search = scale.open_tiered(million(size), size)["WARM, dense and BM25"]
    asked = cycle(scale.questions(1000, 11))
    return Work(lambda: search(next(asked)), clock=time.perf_counter)


def program(*arguments: str, folder: Path = ROOT) -> None:
    """Run a Python program on all cores.

    Raises:
        MemreproError: if it does not end well, with its last line.
    """
    command = [sys.executable, "-m", *arguments]
    cores = range(os.cpu_count() or 1)
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))  # fmt: skip
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["nothing"]
        raise MemreproError(f"{' '.join(arguments)} ended with {done.returncode}: {said[-1]}")


def verifying(size: int) -> Work:
    """`memrepro verify open`, its metrics made beforehand."""
    return Work(lambda: program("memrepro", "verify", "open"), clock=time.perf_counter)


def stage(size: int) -> Work:
    """A stage whose notebook does nothing: as a stage of DVC runs it, and by papermill alone."""
    import nbformat

    folder = TemporaryDirectory()
    root = Path(folder.name)
    (root / "notebooks").mkdir()
    (root / "memrepro").symlink_to(ROOT / "memrepro")
    for name in ("params.yaml", "dvc.yaml"):
        (root / name).write_text("{}\n")
    cells = [nbformat.v4.new_code_cell(code) for code in (
        'profile = "sample"',
        "import pandas as pd\n\nfrom memrepro.pipeline import views",
        "print(profile)",
    )]  # fmt: skip
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    source = root / "notebooks" / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), source)

    def ours() -> None:
        program(
            "memrepro", "notebook", "a", "-p", "profile=open", "--output", "b.ipynb", folder=root
        )

    def peer() -> None:
        assert folder.name  # which lasts as long as this
        program("papermill", str(source), "c.ipynb", "-p", "profile", "open", folder=root)

    return Work(ours, peer, clock=time.perf_counter)
