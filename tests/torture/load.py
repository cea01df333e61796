"""Load: eight processes work on fifty users' memories; users never meet, and deleted words go."""

import multiprocessing
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from random import Random
from typing import Any

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_json, write_json
from memrepro.memory import control
from memrepro.memory.memory import TieredMemory
from memrepro.retrieve.tiered.keys.segments import Message
from tests.memory.killed import SETTINGS, word
from tests.memory.store_made import DAY, HOUR, MINUTE, START, all_bytes, check_whole
from tests.torture.campaign import Case

PROCESSES, USERS, MOST = 8, 50, 150  # MOST messages of a user: then some are deleted
LONGEST_WAIT = 60  # seconds for a writer's turn
OPERATIONS = {"search": 45, "add": 25, "delete": 8, "maintain": 7, "export": 5, "look": 10}
READS = ("search", "export")


def _word(user: int, number: int) -> str:
    return word(f"{user}.{number}")


def _message(user: int, number: int) -> Message:
    at = START + (number // 6) * 3 * HOUR + (number % 6) * MINUTE
    text = f"I like {_word(user, number)} of user{user:02d}"
    return Message(f"m{number}", "user", at, text, "cli")


class _Broken(Exception):
    """A promise that does not hold."""


class _User:
    """A user's memory, and what was confirmed to them: which messages are there, which are gone.

    What was confirmed is kept in a file that only the writer of the memory changes.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self.number, self._root = number, folder / "memories"
        self._file = folder / f"told/{number}.json"
        self.waited = 0.0

    @contextmanager
    def writing(self) -> Iterator[tuple[TieredMemory, dict[str, Any]]]:
        """The memory open for writing, as soon as no other process writes it."""
        began = time.monotonic()
        while True:
            try:
                memory = self._open("write")
                break
            except MemreproError as error:
                if "another process is writing" not in str(error):
                    raise
            if time.monotonic() - began > LONGEST_WAIT:
                raise _Broken(f"a writer waited for more than {LONGEST_WAIT} seconds")
            time.sleep(0.01)
        self.waited = time.monotonic() - began
        with memory:
            told = self.told()
            try:
                yield memory, told
            finally:
                write_json(self._file, told)

    def reading(self) -> TieredMemory:
        return self._open("read")

    def told(self) -> dict[str, Any]:
        """Numbers of messages: the next one, those there, those gone, and those in doubt."""
        if not self._file.exists():
            return {"next": 0, "here": [], "gone": [], "doubt": []}
        return dict(read_json(self._file))

    def check(self, text: str, gone: list[int]) -> None:
        """Refuse a text with another user's words, or with some that were deleted before."""
        if others := set(re.findall(r"of user(\d\d)", text)) - {f"{self.number:02d}"}:
            raise _Broken(f"user {self.number} is given words of {sorted(others)}")
        for number in gone:
            if _word(self.number, number) in text:
                raise _Broken(f"user {self.number} is given the deleted message {number}")

    def _open(self, mode: Any) -> TieredMemory:
        return TieredMemory(self._root, f"user{self.number}", HashEncoder(16), SETTINGS, mode=mode)


def _do(what: str, user: _User, chance: Random) -> str:
    """One operation; its outcome."""
    if what in READS:
        gone = user.told()["gone"]
        with user.reading() as memory:
            if what == "export":
                with tempfile.NamedTemporaryFile(suffix=".json") as file:
                    control.export(memory, Path(file.name))
                    user.check(Path(file.name).read_text(), gone)
                return "whole"
            query = f"what of {_word(chance.randrange(USERS), chance.randrange(MOST))}?"
            answer = memory.search(query, START + 400 * DAY)
            user.check(" ".join(item.text for item in answer.items), gone)
            return answer.step
    with user.writing() as (memory, told):
        if what == "look":
            _look(user, memory, told)
        elif what == "maintain":
            memory.maintain(_message(0, told["next"]).at + DAY)
        elif what == "delete" or len(told["here"]) > MOST:
            some = chance.sample(told["here"], min(len(told["here"]), chance.randint(1, 20)))
            told["here"] = sorted({*told["here"]} - {*some})
            told["doubt"] += some
            control.delete_messages(memory, [f"m{number}" for number in some])
            told["doubt"] = sorted({*told["doubt"]} - {*some})
            told["gone"] += some
            _no_byte(user, memory, some)
        else:
            some = list(range(told["next"], told["next"] + chance.randint(1, 12)))
            told["next"] = some[-1] + 1
            memory.add([_message(user.number, number) for number in some])
            told["here"] += some
    return "done"


def _no_byte(user: _User, memory: TieredMemory, numbers: list[int]) -> None:
    """Search every file, SQLite's pages and Lance's versions included, without what is said."""
    data = all_bytes(memory.folder)
    for number in numbers:
        # FTS5 stores what words begin with once.
        if _word(user.number, number)[4:].encode() in data:
            raise _Broken(f"user {user.number}: bytes of the deleted message {number} are there")


def _look(user: _User, memory: TieredMemory, told: dict[str, Any]) -> None:
    check_whole(memory)
    found = {int(message.message_id[1:]) for message in control.messages(memory)}
    if lost := {*told["here"]} - found:
        raise _Broken(f"user {user.number}: confirmed messages are lost: {sorted(lost)}")
    if back := found & {*told["gone"]}:
        raise _Broken(f"user {user.number}: deleted messages are there: {sorted(back)}")
    _no_byte(user, memory, [*told["gone"], *({*told["doubt"]} - found)])


def _work(folder: Path, seed: int, told: Any) -> None:
    """One process: operations on random users, a few of them far more often, without end."""
    chance = Random(seed)
    while True:
        user = _User(folder, min(int(chance.expovariate(0.1)), USERS - 1))
        what = chance.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
        began, broken = time.monotonic(), ""
        try:
            outcome = _do(what, user, chance)
        except MemreproError as error:
            outcome = "refused"
            # A reader has an old state: the words go at the next opening, as the sentence says.
            begun = what in READS and re.search("there is no memory|only being made", str(error))
            if "has been reading" not in str(error) and not begun:
                broken = str(error)
        except (_Broken, AssertionError) as error:
            outcome, broken = "broken", str(error) or "an assertion on the whole memory"
        except Exception as error:
            outcome, broken = "traceback", f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - began - user.waited
        told.put(Case(f"load, {what}", outcome, broken, seconds))
        if what not in READS:
            told.put(Case("load, a writer's turn", "had", "", user.waited))


def users(folder: Path, chance: Random) -> Iterator[Case]:
    """Eight processes, fifty users: searches, additions, deletions, exports, and looks."""
    (folder / "told").mkdir()
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    workers = [
        context.Process(target=_work, args=(folder, chance.randrange(10**9), told), daemon=True)
        for _ in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    try:
        while True:
            try:
                yield told.get(timeout=2 * LONGEST_WAIT)
            except Empty:
                yield Case("load", "hung", f"nothing in {2 * LONGEST_WAIT} seconds")
            if dead := [worker.exitcode for worker in workers if not worker.is_alive()]:
                raise SystemExit(f"a process under load ended with {dead[0]}")
    finally:
        for worker in workers:
            worker.kill()
