"""memrepro: a reproducible artifact for five documents on conversational memory.

`import memrepro as mr` loads nothing but this file; each name of `__all__` is imported when it is
first used. What needs more than the installed package says so in one sentence. `docs/python.md`
shows all of them.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "Memory",
    "answers",
    "audit",
    "compare",
    "figure",
    "load",
    "printed",
    "question",
    "run",
    "runs",
    "search",
    "sweep",
    "table",
    "try_methods",
    "verdict",
]

# Where each name is defined.
_HOMES = {
    "Memory": "face.kept",
    "answers": "face.answers",
    "compare": "face.comparing",
    "figure": "face.documents",
    "load": "face.conversations",
    "printed": "face.documents",
    "question": "face.questions",
    "run": "face.runs",
    "runs": "face.runs",
    "search": "face.searching",
    "sweep": "face.runs",
    "table": "face.documents",
    "try_methods": "face.trial.trying",
    "verdict": "face.documents",
}


def __getattr__(name: str) -> Any:
    if name == "audit":  # a package that can be called
        return import_module("memrepro.audit")
    if name not in _HOMES:
        raise AttributeError(f"module 'memrepro' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"memrepro.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
