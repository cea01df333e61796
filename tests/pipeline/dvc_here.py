"""DVC's command line in this process: each process of its own would import it for seconds."""

import logging
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from dvc.cli import main


def dvc(folder, *words):
    """Run a command that must succeed; what it said. What it runs finds this Python first."""
    said, path = StringIO(), os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for handler in logging.getLogger("dvc").handlers:
        handler.setStream(said)
    with (
        chdir(folder),
        redirect_stdout(said),
        redirect_stderr(said),
        patch.dict(os.environ, PATH=path, DVC_NO_ANALYTICS="1"),
    ):
        assert main(list(words)) == 0, said.getvalue()
    return said.getvalue()
