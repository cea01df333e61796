"""Language models whose answers are records: replayed, or recorded as they come."""

import sys
import time
from collections.abc import Iterator, Sequence

from memrepro.errors import MemreproError
from memrepro.files.progress import bar
from memrepro.llm.model import Answer, Backend, ModelIdentity, Prompt, prompt_key
from memrepro.llm.records import AnswerStore, Record


class Recorded:
    """Replay: answers from the store, and no model anywhere."""

    def __init__(self, store: AnswerStore, identity: ModelIdentity, experiment: str) -> None:
        """Replay a model's answers; the experiment is named where one is missing."""
        self.identity = identity
        self._store, self._experiment = store, experiment

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """The recorded answers, in the order of the prompts.

        Raises:
            MemreproError: if one is not recorded: how many, the first one's key, and what to do.
        """
        keys = [prompt_key(self.identity, prompt) for prompt in prompts]
        if lost := self._store.missing(list(dict.fromkeys(keys))):
            raise MemreproError(
                f"{len(lost)} of {len(set(keys))} answers of {self.identity} that experiment "
                f"{self._experiment!r} needs are not recorded in {self._store.path}; the first "
                f"prompt's key is {lost[0].hex()}: ask live where the model is (docs/llm.md), or "
                "import a file of its records"
            )
        return self._store.read(keys)


class Recording:
    """A live model: what is recorded is replayed, the rest is asked for and recorded at once."""

    def __init__(self, store: AnswerStore, backend: Backend, *, progress: bool = True) -> None:
        """Record into a store; progress is a bar on a terminal, elsewhere lines on stderr."""
        self.identity = backend.identity
        self._store, self._backend, self._progress = store, backend, progress

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """The answers, in the order of the prompts; each unique prompt is asked for once.

        Each answer is committed as it comes, so that a kill loses only those in flight. Missing
        ones are asked for longest first, which fits batches. The result is always what the store
        holds.

        Raises:
            MemreproError: if the backend cannot answer all; what it did answer is recorded.
        """
        # Prompts may be made as they are looked at: a whole history is long, and none is kept.
        keys, first = [], dict[bytes, tuple[int, int]]()  # the size and place of each unique one
        for place, prompt in enumerate(prompts):
            keys.append(key := prompt_key(self.identity, prompt))
            first.setdefault(key, (prompt.size, place))
        missing = set(self._store.missing(list(first)))
        todo = sorted((-size, key, place) for key, (size, place) in first.items() if key in missing)
        asked, tokens, began = 0, 0, time.perf_counter()
        with bar(len(todo), self.identity.model, " answers", show=self._progress) as shown:

            def still_missing() -> Iterator[Prompt]:
                for _, key, place in todo:
                    # Another process may have recorded it since.
                    if self._store.missing([key]):
                        yield prompts[place]
                    else:
                        shown.update()

            for prompt, answer in self._backend.stream(still_missing()):
                self._store.add([Record(prompt, answer)])
                asked += 1
                tokens += sum(answer.tokens)
                shown.update()
        if self._progress and todo and not sys.stderr.isatty():
            print(
                f"{self.identity.model}: {len(first) - asked} answers found, {asked} asked for "
                f"in {time.perf_counter() - began:.1f} s ({tokens} tokens)",
                file=sys.stderr,
            )
        return self._store.read(keys)
