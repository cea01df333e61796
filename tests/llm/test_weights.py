"""Hub models at a pinned commit; the hub itself is not reached."""

import huggingface_hub
import pytest

from memrepro.errors import MemreproError
from memrepro.llm.weights import hub_folder

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_the_mirror_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMREPRO_MIRROR", str(tmp_path))
    (tmp_path / "models/Qwen-x").mkdir(parents=True)
    assert hub_folder("Qwen/Qwen-x", COMMIT) == tmp_path / "models/Qwen-x"


def test_the_hub_is_asked_for_the_commit_and_for_no_pickle(tmp_path, monkeypatch):
    monkeypatch.delenv("MEMREPRO_MIRROR", raising=False)
    asked = []

    def download(repository, *, revision, allow_patterns):
        asked.append((repository, revision))
        assert not any(pattern.endswith((".bin", ".py", ".pt", "*")) for pattern in allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert hub_folder("Qwen/Qwen-x", COMMIT) == tmp_path
    assert asked == [("Qwen/Qwen-x", COMMIT)]


@pytest.mark.parametrize("commit", ["main", "v1", COMMIT[:-1], COMMIT.upper(), ""])
def test_what_may_move_is_refused(commit):
    with pytest.raises(MemreproError, match="must be a commit of 40 hex digits"):
        hub_folder("Qwen/Qwen-x", commit)
