"""What is extracted does not depend on the clock, the time zone, the locale or the hash seed."""

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

from memrepro.text.facts import user_facts
from memrepro.text.nlp import VERSION, keyphrases, summary
from memrepro.text.temporal import dated_events, time_range
from tests.text.test_nlp import SESSION

DATES = ("on the Friday two weeks ago", "last month", "on 29 February", "on 3/5/23", "today",
         "in May", "in 2021", "last Monday", "five days ago", "next Friday", "last winter",
         "this weekend", "on Christmas")  # fmt: skip
ELSEWHERE = """
import datetime
real = datetime.datetime
class Kind(type):
    def __instancecheck__(cls, one): return isinstance(one, real)
class Frozen(real, metaclass=Kind):
    @classmethod
    def now(cls, tz=None): return real(2031, 2, 28, 23, 59, tzinfo=tz)
    @classmethod
    def utcnow(cls): return cls.now()
    @classmethod
    def today(cls): return cls.now()
datetime.datetime = Frozen
from memrepro.text import temporal
datetime.datetime = real
from tests.text.test_everywhere import told
print(told())
"""


def told():
    said = date(2024, 3, 1)
    spans = [(text, time_range(text, said), dated_events(text, said)) for text in DATES]
    assert all(span for _, span, _ in spans)
    return ascii((spans, user_facts(SESSION), keyphrases(SESSION), summary(SESSION), VERSION))


def test_it_is_the_same_at_another_time_and_place():
    seed = str(int(os.environ.get("PYTHONHASHSEED") == "1") + 1)
    variables = {
        "TZ": "Pacific/Kiritimati", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8",
        "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2]),
    }  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], env=os.environ | variables, check=True,
        capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert run.stdout.strip() == told()
