"""Progress of long work, a live bar or a line now and then in a log; and libraries kept quiet."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

# Without it OpenVINO reports no use of it: with it, each import tells Google Analytics, unasked.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
# How often a pipe, such as DVC's or a notebook's, is told how far the work is.
SECONDS = 15.0


def bar(
    total: int | None, name: str, unit: str, *, done: int = 0, show: bool = True
) -> "tqdm[Any]":
    """A tqdm bar on stderr; nothing is shown of work that is over before the first line is due.

    Args:
        total: how much there is, or None where that is not known.
        name: what is being worked on.
        unit: of what; 'B' is scaled to kB, MB, GB.
        done: how much was there before.
        show: False for none at all.
    """
    terminal = sys.stderr.isatty()
    return tqdm(
        total=total,
        initial=done,
        desc=name,
        unit=unit,
        unit_scale=unit == "B",
        disable=not show,
        leave=terminal,
        delay=0.5 if terminal else SECONDS,
        mininterval=0.1 if terminal else SECONDS,
    )


@contextmanager
def quietly() -> Iterator[None]:
    """Keep transformers' loading bars, its advice and all warnings out of notebooks."""
    with warnings.catch_warnings():
        # tqdm warns here of a missing widget that nothing uses.
        warnings.simplefilter("ignore")
        from transformers import utils

    logging: Any = utils.logging
    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
