"""Kills children in the middle of their work and looks at what they leave: a program for a test.

Children are forked from this process, which has imported all and opened nothing, as LanceDB's
threads do not survive a fork. Each looks at what the last one left, then works until it is killed.
"""

import hashlib
import json
import os
import random
import select
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import lancedb  # noqa: F401
import sklearn.feature_extraction.text  # noqa: F401

from memrepro.encode.encoder import HashEncoder
from memrepro.memory import control
from memrepro.memory.journal import day
from memrepro.memory.language import extract
from memrepro.memory.memory import TieredMemory
from memrepro.memory.settings import Settings
from memrepro.retrieve.tiered.keys.segments import Message
from memrepro.text.temporal import dated_events
from tests.memory.store_made import DAY, HOUR, MINUTE, START, all_bytes, check_whole

# Segments become facts after half a day of the children's time.
SETTINGS = Settings(threshold=0.3, dense_ms=600_000, warm_days=0.5, same=0.6)


def word(number):
    """Unlike any other, from its first letters: FTS5 stores what words share once."""
    return "z" + hashlib.sha256(str(number).encode()).hexdigest()[:12]


def message(number):
    at = START + (number // 6) * 3 * HOUR + (number % 6) * MINUTE
    return Message(f"m{number}", "user", at, f"I like {word(number)}", "cli")


def look(memory, expected):
    """Compare what is there with what was acknowledged, and what was in work when killed."""
    check_whole(memory)
    found = control.messages(memory)
    here = {int(m.message_id[1:]) for m in found}
    assert len(here) == len(found)
    assert [m.text for m in found] == [message(int(m.message_id[1:])).text for m in found]
    added, deleted = set(expected["added"]), set(expected["deleted"])
    adding, deleting = set(expected["adding"]), set(expected["deleting"])
    assert added - deleted - deleting <= here, "an acknowledged message is lost"
    assert here <= (added | adding) - deleted, "a deleted message is there"
    covered = {key for s in control.segments(memory) for key in s.message_ids}
    assert {m.message_id for m in found} - covered <= {m.message_id for m in memory.recent()}
    left = all_bytes(memory.folder)
    for number in (added | deleting) - here:
        assert word(number)[4:].encode() not in left, "bytes of a deleted message are there"


def work(root, expected, say, seed):
    memory = TieredMemory(root, "ann", HashEncoder(16), SETTINGS)
    look(memory, expected)
    here = {int(m.message_id[1:]) for m in control.messages(memory)}
    say("whole", sorted(here))
    chance = random.Random(seed)
    # What was in work when the last one was killed comes again, as from a client.
    number = min([*set(expected["adding"]) - here, max(here, default=-1) + 1])
    # What was deleted is not said again.
    never = {*expected["deleted"], *expected["deleting"]} - here
    while True:
        do = chance.random()
        if do < 0.45:
            some = [i for i in range(number, number + chance.randint(1, 8)) if i not in never]
            some = some or [max(never) + 1]
            say("adding", some)
            memory.add([message(i) for i in some])
            say("added", some)
            here |= set(some)  # so that there is something to delete in a first life, too
            number = some[-1] + 1
        elif do < 0.7:
            say("maintaining", [])
            done = memory.maintain(message(number).at + chance.choice([0, DAY]))
            say("maintained", [done.migrated])
        elif do < 0.9 and here:
            gone = chance.choice(sorted(here))
            say("deleting", [gone])
            control.delete_messages(memory, [f"m{gone}"])
            say("deleted", [gone])
            here.discard(gone)
            never.add(gone)
        else:
            answer = memory.search(word(chance.randrange(number + 1)), message(number).at)
            assert answer.step == "dense", answer.failures


def child(root, expected, pipe, seed):
    def say(what, numbers):
        os.write(pipe, (json.dumps([what, numbers]) + "\n").encode())

    try:
        work(root, expected, say, seed)
    except BaseException:
        say("failed", traceback.format_exc())
    os._exit(1)


def one_life(root, expected, seed, counts):
    chance = random.Random(seed)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        child(root, expected, writing, seed)
    os.close(writing)
    # Each fourth is killed in another moment, however slow the disk is. Opening is where an
    # earlier kill is made good.
    moment = ("opening", "adding", "deleting", "maintaining")[seed % 4]
    begun = b"" if moment == "opening" else b'["' + moment.encode()
    text, until, in_moment = b"", time.monotonic() + 60, False
    while (left := until - time.monotonic()) > 0:
        if not in_moment and begun in text:
            in_moment = True
            until = time.monotonic() + chance.choice([0, chance.uniform(0, 0.12)])
            continue
        if not select.select([reading], [], [], left)[0]:
            break
        if not (part := os.read(reading, 65536)):
            break
        text += part
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while part := os.read(reading, 65536):
        text += part
    os.close(reading)
    lines = text.decode().splitlines()
    last = json.loads(lines[-1])[0] if lines else "opening"
    counts[f"killed after {last}"] = counts.get(f"killed after {last}", 0) + 1
    for line in lines:
        what, numbers = json.loads(line)
        if what == "failed":
            raise SystemExit(numbers)
        if what == "whole":
            # What was in work came or went as a whole; from here on it is known.
            here = set(numbers)
            expected["deleted"] = sorted(
                {*expected["deleted"], *(n for n in expected["deleting"] if n not in here)}
            )
            expected["added"] = sorted({*expected["added"], *here})
            expected["adding"] = [n for n in expected["adding"] if n not in here]
            expected["deleting"] = []
        elif what in expected:
            expected[what] = sorted({*expected[what], *numbers})


def main(root, kills, roots):
    warnings.simplefilter("ignore")
    # Loaded here once, so that children begin at once.
    extract.by_rules([("s", "[2023-05-08 00:00] user: I like tea", START)])
    dated_events("on 3 May", day(START))
    counts = {"kills": 0}
    for turn in range(roots):
        expected = {"added": [], "adding": [], "deleted": [], "deleting": []}
        for life in range(kills // roots):
            one_life(root / str(turn), expected, 1000 * turn + life, counts)
            counts["kills"] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
