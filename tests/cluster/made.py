"""What a worker makes: apart from the tests, as each worker imports it."""

import os
import time

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.llm.model import Answer, ModelIdentity

IDENTITY = ModelIdentity("parrot", "1")


class Logged(HashEncoder):
    """Writes down each text and who encodes it, on the disk, before it encodes it.

    Where a file `go_on` is named, it waits for it after four batches.
    """

    def __init__(self, log, poison=None, go_on=None):
        super().__init__(32)
        self.log, self.poison, self.go_on, self.batches = log, poison, go_on, 0

    def encode(self, texts, role):
        with self.log.open("a") as file:
            file.writelines(f"{os.getpid()} {text.split(' word')[0]}\n" for text in texts)
            file.flush()
            os.fsync(file.fileno())
        self.batches += 1
        while self.go_on and self.batches > 4 and not self.go_on.exists():
            time.sleep(0.05)
        if self.poison in texts:
            raise MemreproError("a vector is not finite")
        return super().encode(texts, role)


def deadly():
    """Does its items, but for one that ends its process each time, as the lack of memory does."""
    return lambda item: os.kill(os.getpid(), 9) if item == "too large" else item


class Parrot:
    """A backend that says again what it was asked, and with how many others."""

    identity = IDENTITY

    def stream(self, prompts):
        batch = list(prompts)
        for prompt in batch:
            said = f"{prompt.messages[-1].content} of {len(batch)}"
            yield prompt, Answer(said, 1, 1, 0.0, "parrot", "1", "stop", str(os.getpid()))
