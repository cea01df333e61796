"""Runs a notebook with parameters, refuses what papermill lets pass, and makes the result stable.

papermill only warns about a parameter that a notebook does not declare, takes an early exit for
success, and leaves times, ids and addresses in the file (docs/protocols.md, Known traps). It asks
Jupyter for the kernel `python3`, which any folder of JUPYTER_PATH may claim for another Python.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import papermill
from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from memrepro.errors import MemreproError
from memrepro.files.atomic import replacing, root
from memrepro.pipeline.unchanged import unchanged

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_ROOM = re.compile(r"\bmemrepro\.(\w+)")  # that a notebook names
_FACE = re.compile(r"\bmr\.\w+")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class RunningPython(AsyncKernelManager):
    """Starts kernels of the Python that runs this, whatever kernels are installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """Of this process's own interpreter."""
        return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())


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


@contextmanager
def kernel_for(name: str) -> Iterator[AsyncKernelManager]:
    """A kernel that imports what a notebook does while the block does something else.

    Raises:
        MemreproError: if there is no notebook of that name.
    """
    cells = nbformat.read(source(name), as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    parsed = (one for text in code for one in ast.parse(text).body)
    lines = [ast.unparse(one) for one in parsed if isinstance(one, ast.Import | ast.ImportFrom)]
    lines += sorted(set(_FACE.findall("\n".join(code))))  # whose modules load at first use
    imports = "\n".join(lines)
    # The kernel's own warnings (about its transport, about being stopped) help nobody.
    options = ["--IPKernelApp.log_level=50", f"--IPKernelApp.exec_lines=exec({imports!r}, {{}})"]
    kernel = RunningPython()
    run_sync(kernel.start_kernel)(cwd=str(root()), extra_arguments=options)
    try:
        yield kernel
    finally:
        run_sync(kernel.shutdown_kernel)(now=True)


def execute(
    name: str, parameters: Mapping[str, Any], output: Path, kernel: AsyncKernelManager | None = None
) -> Path:
    """Execute a notebook and write it, normalised, to `output`.

    Args:
        name: stem of a notebook under `notebooks/`.
        parameters: of its parameters cell; every one must be declared there, and none missing.
        output: where the executed notebook goes; replaced only if the run ends well.
        kernel: that runs it, of `kernel_for`; one of its own without.

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
    rooms = {"face", "report", *_ROOM.findall(path.read_text(encoding="utf-8"))}
    with unchanged(f"the notebook {name!r}", map(str, parameters.values()), rooms, path):
        if kernel:
            executed = _executed(name, path, parameters, kernel)
        else:
            with kernel_for(name) as own:
                executed = _executed(name, path, parameters, own)
    with replacing(output) as temporary:
        nbformat.write(normalise(executed), temporary)
    return output


def _executed(
    name: str, path: Path, parameters: Mapping[str, Any], kernel: AsyncKernelManager
) -> nbformat.NotebookNode:
    """The notebook with its outputs, all cells run."""
    try:
        executed = papermill.execute_notebook(
            str(path),
            None,
            parameters=dict(parameters),
            kernel_name="python3",
            km=kernel,
            cwd=str(root()),
            progress_bar=False,
            start_timeout=600,  # a busy machine is not a dead kernel
            stderr_file=sys.stderr,
        )
    except PapermillExecutionError as error:
        raise _failure(name, error) from error
    except DeadKernelError as error:
        raise MemreproError(
            f"the kernel of the notebook {name!r} died: most often the memory did not suffice; "
            "free some and run the same command again (what was embedded is kept)"
        ) from error
    for cell in executed.cells:
        failed = any(one["output_type"] == "error" for one in cell.get("outputs", ()))
        if cell.cell_type == "code" and cell.source and (failed or not cell.execution_count):
            raise MemreproError(
                f"the notebook {name!r} ended before its last cell: its outputs are not to be "
                "trusted; look for an exit in its cells"
            )
    return executed


def _failure(name: str, error: PapermillExecutionError) -> MemreproError:
    """The package's own sentence as it is; anything else with its traceback."""
    if error.ename == "MemreproError":
        return MemreproError(error.evalue)
    trace = _ANSI.sub("", "\n".join(error.traceback))
    return MemreproError(
        f"the notebook {name!r} failed in cell {error.exec_count} with {error.ename}: "
        f"{error.evalue}\n{trace}"
    )


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
            kept = [output for output in cell.outputs if output.get("name") != "stderr"]
            new["outputs"] = [_without_addresses(output) for output in _joined(kept)]
        stable.cells.append(nbformat.from_dict(new))
    return stable


def _joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """What was printed in a row as one output: when a kernel sends it depends on its clock."""
    found: list[nbformat.NotebookNode] = []
    for output in outputs:
        if found and output.output_type == found[-1].output_type == "stream":
            found[-1] = nbformat.from_dict({**found[-1], "text": found[-1].text + output.text})
        else:
            found.append(output)
    return found


def _without_addresses(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if "text" in output:
        output["text"] = _ADDRESS.sub("0x…", output["text"])
    if "data" in output and "text/plain" in output["data"]:
        output["data"]["text/plain"] = _ADDRESS.sub("0x…", output["data"]["text/plain"])
    output.get("metadata", {}).clear()
    return output
