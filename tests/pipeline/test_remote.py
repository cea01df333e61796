"""What DVC keeps goes to a remote and comes back: by the commands of docs/cluster.md."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.pipeline.dvc_here import dvc

ROOT = Path(__file__).parents[2]
COMMANDS = (ROOT / "docs" / "cluster.md").read_text()


def documented(kind):
    """The lines that set up a remote of a kind, as the page has them."""
    (block,) = re.findall(rf"```sh\n(dvc remote add -d {kind} .*?)```", COMMANDS, re.S)
    return [line.split("  #")[0].split() for line in block.splitlines()]


@pytest.fixture
def bucket(monkeypatch):
    """A bucket of a local server that talks as S3 does: its name, and the server's address."""
    pytest.importorskip("dvc_s3", reason="the extra s3 is not installed")
    server_of = pytest.importorskip("moto.server", reason="the extra s3 is not installed")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1" if name.endswith("REGION") else "testing")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    import boto3

    boto3.client("s3", endpoint_url=address).create_bucket(Bucket="memrepro")
    yield address
    server.stop()


@pytest.fixture
def run(tmp_path):
    """Run a command of DVC in a fresh repository of git and DVC."""
    here = tmp_path / "here"

    def command(*words):
        assert words[0] == "dvc"
        dvc(here, *words[1:])

    here.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    command("dvc", "init", "-q")
    shutil.copy(ROOT / ".dvc" / "config", here / ".dvc" / "config")
    command.here = here
    return command


def goes_and_comes_back(run, lines):
    data = run.here / "data" / "vectors"
    data.mkdir(parents=True)
    texts = {f"part-{n}.parquet": os.urandom(1 << 14) for n in range(5)}
    for name, content in texts.items():
        (data / name).write_bytes(content)
    run("dvc", "add", "-q", "data/vectors")
    for line in lines:
        run(*line)
    shutil.rmtree(data)
    shutil.rmtree(run.here / ".dvc" / "cache")
    run("dvc", "pull", "-q")
    assert {path.name: path.read_bytes() for path in data.iterdir()} == texts


@pytest.mark.slow
def test_a_folder(run, tmp_path):
    (tmp_path / "share").mkdir()
    lines = documented("folder")
    assert lines[-1] == ["dvc", "push"]
    goes_and_comes_back(
        run,
        [[word.replace("/srv/share", str(tmp_path / "share")) for word in line] for line in lines],
    )
    assert any((tmp_path / "share").rglob("*.dir"))


@pytest.mark.slow
def test_s3(run, bucket):
    lines = documented("s3")
    goes_and_comes_back(
        run, [[word.replace("https://s3.example.org", bucket) for word in line] for line in lines]
    )
    import boto3

    held = boto3.client("s3", endpoint_url=bucket).list_objects_v2(Bucket="memrepro")["Contents"]
    assert len(held) == 6  # five files, and the list of them
