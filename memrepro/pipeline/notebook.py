"""Runs a notebook with parameters, refuses what papermill lets pass, and makes the result stable.

papermill only warns about a parameter that a notebook does not declare, takes an early exit for
success, and leaves times, ids and addresses in the file (docs/protocols.md, Known traps).
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml, replacing, root, write_text
from memrepro.study.result import SENTINEL

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
# The rooms that a notebook names, and those that stand below all of them.
_ROOM = re.compile(r"\bmemrepro\.(\w+)")
_BELOW = {"core", "data", "encode", "evaluate", "retrieve", "study", "text"}
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def source(name: str) -> Path:
    """The path of a source notebook.

    Raises:
        MemreproError: if there is none of that name.
    """
    folder = root() / "notebooks"
    path = folder / f"{name}.ipynb"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.ipynb")))
        raise MemreproError(f"unknown notebook {name!r}: known are {known}")
    return path


def execute(name: str, parameters: Mapping[str, Any], output: Path) -> Path:
    """Execute a notebook and write it, normalised, to `output`.

    Args:
        name: stem of a notebook under `notebooks/`.
        parameters: of its parameters cell; every one must be declared there, and none missing.
        output: where the executed notebook goes; replaced only if the run ends well.

    Raises:
        MemreproError: for an unknown or missing parameter, a failed cell, a notebook that ended
            early, or code, notebook or parameters that changed meanwhile.
    """
    path = source(name)
    declared = set(papermill.inspect_notebook(str(path)))
    if declared != set(parameters):
        strange = sorted(set(parameters) - declared)
        what = (
            f"unknown parameter {strange[0]!r}"
            if strange
            else "missing parameter " + repr(min(declared - set(parameters)))
        )
        raise MemreproError(
            f"{what} of the notebook {name!r}: it declares {', '.join(sorted(declared)) or 'none'}"
        )
    before = _state(name, parameters)
    try:
        executed = papermill.execute_notebook(
            str(path),
            None,
            parameters=dict(parameters),
            kernel_name="python3",
            cwd=str(root()),
            progress_bar=False,
            stderr_file=sys.stderr,
            # The kernel's own warnings (about its transport, about being stopped) help nobody.
            extra_arguments=["--IPKernelApp.log_level=50"],
            shutdown_kernel="immediate",
        )
    except PapermillExecutionError as error:
        raise _failure(name, error) from error
    except DeadKernelError as error:
        raise MemreproError(
            f"the kernel of the notebook {name!r} died: most often the memory did not suffice; "
            "free some and run the same command again (what was embedded is kept)"
        ) from error
    printed = "".join(o.get("text", "") for o in executed.cells[-1].get("outputs", []))
    if not printed.rstrip().endswith(SENTINEL):
        raise MemreproError(
            f"the notebook {name!r} ended before its last cell's footer: its outputs are not "
            "to be trusted; look for an exit in its cells"
        )
    after = _state(name, parameters)
    if changed := sorted(name for name in before | after if before.get(name) != after.get(name)):
        raise MemreproError(
            f"{changed[0]} changed while the notebook {name!r} ran on it: run the same command "
            "again (what was embedded is kept)"
        )
    with replacing(output) as temporary:
        nbformat.write(normalise(executed), temporary)
    return output


def _failure(name: str, error: PapermillExecutionError) -> MemreproError:
    """The package's own sentence as it is; anything else with its traceback."""
    if error.ename == "MemreproError":
        return MemreproError(error.evalue)
    trace = _ANSI.sub("", "\n".join(error.traceback))
    return MemreproError(
        f"the notebook {name!r} failed in cell {error.exec_count} with {error.ename}: "
        f"{error.evalue}\n{trace}"
    )


def _state(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What must not change while a notebook runs: the code, itself, and what it is asked for.

    DVC hashes dependencies after the run: an edit meanwhile would give a lock that lies.
    """
    state: dict[str, Any] = {}
    for section, entries in read_yaml(root() / "params.yaml").items():
        for value in parameters.values():
            if section == "evaluation" or (isinstance(entries, dict) and value in entries):
                key = f"{section}.{value} of params.yaml"
                state[key] = entries if section == "evaluation" else entries[value]
    rooms = _BELOW | set(_ROOM.findall(source(name).read_text(encoding="utf-8")))
    code = (
        path
        for room in sorted(rooms)
        for path in sorted((root() / "memrepro" / room).rglob("*"))
        if path.suffix in (".py", ".yaml", ".json")
    )
    for file in (source(name), *code):
        stat = file.stat()
        state[file.relative_to(root()).as_posix()] = (stat.st_size, stat.st_mtime_ns)
    return state


def normalise(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same notebook without what differs from run to run: times, ids, stderr, addresses."""
    stable = nbformat.v4.new_notebook(
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        nbformat_minor=4,
    )
    for cell in notebook.cells:
        new = {
            "cell_type": cell.cell_type,
            "metadata": {"tags": cell.metadata.tags} if cell.metadata.get("tags") else {},
            "source": cell.source,
        }
        if cell.cell_type == "code":
            new["execution_count"] = cell.execution_count
            new["outputs"] = [
                _without_addresses(output)
                for output in cell.outputs
                if output.get("name") != "stderr"
            ]
        stable.cells.append(nbformat.from_dict(new))
    return stable


def _without_addresses(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if "text" in output:
        output["text"] = _ADDRESS.sub("0x…", output["text"])
    if "data" in output and "text/plain" in output["data"]:
        output["data"]["text/plain"] = _ADDRESS.sub("0x…", output["data"]["text/plain"])
    output.get("metadata", {}).clear()
    return output


# Markdown may hold markup, and what it names may be a data set's: nothing runs, is loaded or leads
# away by itself. What is of no tag here shows as its text.
_TAGS = (
    "a", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt",
    "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li", "ol", "p", "pre", "s", "span",
    "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
)  # fmt: skip
_ATTRIBUTES = {
    "*": ["class", "id"], "a": ["href", "title"],
    "td": ["align", "colspan", "rowspan", "style"], "th": ["align", "colspan", "rowspan", "style"],
}  # fmt: skip
_STYLE = re.compile(r"<style\b.*?</style\s*>", re.IGNORECASE | re.DOTALL)  # pandas has one a table
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto }}
table {{ border-collapse: collapse; font-size: 0.82rem; display: block; overflow-x: auto }}
th, td {{ border: 1px solid #ccc; padding: 0.2rem 0.5rem; text-align: left }}
th {{ background: #f4f4f4 }}
pre {{ font-size: 0.75rem; background: #f8f8f8; padding: 0.5rem; overflow-x: auto }}
img {{ max-width: 100% }}
a.anchor-link {{ visibility: hidden }}
</style></head><body>
{body}
</body></html>
"""


def to_page(executed: Path, page: Path) -> Path:
    """Render an executed notebook as one HTML file, without its code; it loads and runs nothing."""
    from nbconvert import HTMLExporter  # half a second, and few stages have a page
    from nbconvert.preprocessors.sanitize import SanitizeHTML

    allowed = {"tags": [*_TAGS], "attributes": _ATTRIBUTES, "styles": ["text-align"]}
    sanitizer = SanitizeHTML(**allowed)
    exporter = HTMLExporter(
        template_name="basic", exclude_input=True, exclude_input_prompt=True,
        exclude_output_prompt=True, embed_images=True, sanitize_html=True,
    )  # fmt: skip
    exporter.register_filter(
        "clean_html", lambda html: sanitizer.sanitize_html_tags(_STYLE.sub("", html))
    )
    body, _ = exporter.from_notebook_node(normalise(nbformat.read(executed, as_version=4)))
    body = re.sub(r' id="cell-id=[^"]*"', "", body)  # random, and nothing links to them
    write_text(page, _PAGE.format(title=page.stem, policy=_POLICY, body=body))
    return page
