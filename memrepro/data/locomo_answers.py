"""Published answers to LoCoMo's 1,540 questions of categories 1 to 4, each judged three times.

Two sets by dial481/locomo-audit: answers of models that read the whole conversation, and answers
that are wrong on purpose, written to see what the judge lets pass.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memrepro.core.memory import Query
from memrepro.data.locomo import KINDS, audited, read
from memrepro.data.reading import Skipped, check_skipped, value_of
from memrepro.files.atomic import read_json

DATASET = "locomo-answers"
_READ = "fc-baseline/results"
# Reader → (file, whether its answers are wrong on purpose).
READERS = {
    "gpt-4o-mini, step by step": (f"{_READ}/gpt-4o-mini-cot/eval_results.json", False),
    "gpt-4o-mini, short answers": (f"{_READ}/gpt-4o-mini-memos/eval_results.json", False),
    "gpt-4.1-mini, short answers": (f"{_READ}/gpt-4.1-mini-memos/eval_results.json", False),
    "wrong on purpose, specific": ("ap-baseline/v1/ap_eval_results_scored.json", True),
    "wrong on purpose, vague": ("ap-baseline/v2/ap_eval_results_scored.json", True),
}
ROUNDS = 3
GOOD, WRONG_ANSWER, WRONG_EVIDENCE = "", "answer", "evidence"


class Answer(NamedTuple):
    """One answer to one question.

    Attributes:
        reader: who wrote it, a key of `READERS`.
        planted: whether it is wrong on purpose.
        query_id: as LoCoMo's data set has it.
        kind: the question's.
        gold: the data set's answer.
        text: the answer.
        judged: what the judge said, once a round: right or not.
        label: what the audit calls wrong of the data set's label: '', 'answer' or 'evidence'.
    """

    reader: str
    planted: bool
    query_id: str
    kind: str
    gold: str
    text: str
    judged: tuple[bool, ...]
    label: str


def stream(folder: Path, locomo: Path) -> Iterator[Answer]:
    """All answers below `folder`, reader by reader, in the data set's order.

    Args:
        folder: the answers' files.
        locomo: the data set's own, whose questions are answered.

    Raises:
        MemreproError: if a file is missing or its structure is broken, or too many answers are to
            no question of LoCoMo's file, or repeat one.
    """
    conversations = read(locomo)
    samples = [one.memory.memory_id for one in conversations]
    wrong_answers, wrong_evidence = audited(locomo)
    asked = {q.query_id: q for one in conversations for q in one.queries}
    for reader, (name, planted) in READERS.items():
        path = folder / "locomo_audit" / name
        seen: set[str] = set()
        skipped: Skipped = []
        entries = _entries(read_json(path), str(path))
        for entry in entries:
            said = value_of(entry, "question_id", str, str(path))
            query_id = _query_id(said, samples)
            if reason := _refused(entry, query_id, asked, seen):
                skipped.append((said, reason))
                continue
            seen.add(query_id)
            judged = value_of(entry, "llm_judgments", dict, f"{path}: {said}")
            label = WRONG_ANSWER if query_id in wrong_answers else GOOD
            label = label or (WRONG_EVIDENCE if query_id in wrong_evidence else GOOD)
            yield Answer(
                reader, planted, query_id, asked[query_id].kind,
                str(value_of(entry, "golden_answer", object, f"{path}: {said}")),
                value_of(entry, "generated_answer", str, f"{path}: {said}"),
                tuple(value_of(judged, f"judgment_{n}", bool, f"{path}: {said}")
                      for n in range(1, ROUNDS + 1)),
                label,
            )  # fmt: skip
        check_skipped(skipped, len(entries), str(path))


def _entries(whole: Any, where: str) -> list[Any]:
    groups = value_of(whole, "detailed_results", dict, where)
    return [entry for group in groups for entry in value_of(groups, group, list, where)]


def _query_id(said: str, samples: list[str]) -> str:
    """`locomo_<i>_qa<j>`, the j-th question of the i-th conversation, as LoCoMo's id; or ''."""
    _, _, place = said.partition("locomo_")
    conversation, _, question = place.partition("_qa")
    if conversation.isdecimal() and question.isdecimal() and int(conversation) < len(samples):
        return f"{samples[int(conversation)]}-q{int(question)}"
    return ""


def _refused(entry: Any, query_id: str, asked: Mapping[str, Query], seen: set[str]) -> str:
    """Why an answer is left out, or ''."""
    if query_id not in asked:
        return "names no question of the data set"
    if asked[query_id].text != entry.get("question"):
        return "is to another question than its id names"
    if str(entry.get("category")) != str(_CATEGORIES[asked[query_id].kind]):
        return "has another category than its question"
    return "answers its question again" if query_id in seen else ""


_CATEGORIES = {kind: number for number, kind in KINDS.items()}
