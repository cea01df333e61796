"""What kills and other processes leave: nothing lost, nothing doubled, nothing undeleted."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memrepro.errors import MemreproError
from tests.memory.store_made import MINUTE, START, chat, opened

ROOT = Path(__file__).parents[2]
KILLS = 10


@pytest.mark.slow
def test_kills_at_any_moment_lose_nothing_and_double_nothing(tmp_path):
    command = [sys.executable, "-m", "tests.memory.killed", str(tmp_path), str(KILLS), "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    counts = json.loads(done.stdout)
    assert counts["kills"] == KILLS
    # The others died between two moments.
    moments = ("opening", "adding", "deleting", "maintaining")
    assert sum(counts.get(f"killed after {moment}", 0) for moment in moments) > KILLS // 4, counts


def test_one_process_writes_and_others_are_told_and_read_one_state(tmp_path):
    program = (
        "import sys; from tests.memory.store_made import *; from pathlib import Path;"
        "m = opened(Path(sys.argv[1])); m.add(chat(20)); print('open', flush=True)\n"
        "for n in range(20, 60, 4):\n"
        "    if n in (20, 32, 44): input()\n"
        "    m.add(chat(4, first=n))"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with (
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
        opened_when_told(other, tmp_path) as reader,
    ):
        with pytest.raises(MemreproError, match="another process is writing .* mode 'read'"):
            opened(tmp_path)
        with opened(tmp_path, user="bob") as bob:
            assert bob.recent() == []
        with pytest.raises(MemreproError, match="open for reading"):
            reader.add(chat(1))
        seen, steps = [], set()
        for end in (31, 43, 59):
            other.stdin.write("\n")
            other.stdin.flush()
            while seen[-1:] != [end]:
                ended = other.poll()
                answer = reader.search("own item3", START + 200 * MINUTE)
                steps.add(answer.step)
                assert answer.items, answer.failures
                for item in answer.items:
                    assert len(item.message_ids) == item.text.count("\n") + 1
                last = [int(m.message_id[1:]) for m in reader.recent()]
                # Batches of four come as a whole, and none goes.
                assert last == list(range(last[0], last[0] + 20))
                assert (last[-1] + 1) % 4 == 0
                seen.append(last[-1])
                assert ended is None or seen[-1] == 59
                time.sleep(0.02)
        assert other.wait() == 0
        assert seen == sorted(seen)
        assert steps <= {"dense", "lexical"}
        answer = reader.search("own item3", START + 200 * MINUTE)
        assert (answer.step, reader.recent()[-1].message_id) == ("dense", "m59")
    with opened(tmp_path) as memory:
        assert memory.recent()[-1].message_id == "m59"


def opened_when_told(other, root):
    assert other.stdout.readline() == "open\n"
    return opened(root, mode="read")


def test_a_file_that_may_not_grow_is_told_with_what_to_do(tmp_path):
    store = opened(tmp_path)
    store.add(chat(2))
    store.close()
    held = max(path.stat().st_size for path in tmp_path.rglob("memory.sqlite*"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(tmp_path) as memory:
        resource.setrlimit(resource.RLIMIT_FSIZE, (held, before[1]))
        try:
            with pytest.raises(MemreproError, match="free space, or raise `ulimit -f`; what was c"):
                memory.add(chat(400, first=2))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with opened(tmp_path) as again:
        assert len(again.journal.messages()) == 2
