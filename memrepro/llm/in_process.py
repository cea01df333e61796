"""transformers in this process: a causal model in a local folder."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError
from memrepro.files.progress import quietly
from memrepro.llm.model import TOO_LONG, Answer, ModelIdentity, Prompt
from memrepro.llm.weights import folder_digest

DTYPES = ("float32", "bfloat16", "float16")
# Put into a control token's text that a prompt holds, so that it is text and not control.
_APART = "\u200b"


class InProcess:
    """A backend that runs a chat model of transformers: safetensors only, no remote code.

    Prompts go one by one, so that an answer depends on no other prompt, and a run that was
    interrupted goes on to the answers that it would have had. With a `batch_size` above 1 greedy
    prompts share batches, with padding on the left, which moves logits by their rounding.
    (SmolLM2 on one core, 8 prompts of 795 tokens, 32 new ones each: batches of 8 take 0.8 of the
    time in float32, with the same answers, and 0.6 in bfloat16, with other answers.) A sampled
    prompt goes alone in any case, under its own seed. Generation follows the prompt's parameters
    alone: of the model's own settings only the tokens that end an answer count, no repetition
    penalty or top-p.

    A prompt with options goes alone too: one pass over the chat, whose last position alone gets
    logits, and where an option has several tokens one more over all options' tokens. Scores are
    sums over an option's tokens, so that of options of unequal length the longer one is at a
    disadvantage.

    A prompt that does not fit the model's context with its answer is refused, in an answer with
    that finish reason. A text in a message that is one of the tokenizer's control tokens is
    broken apart with U+200B, so that a conversation cannot write messages.
    """

    def __init__(
        self,
        folder: Path,
        model: str,
        *,
        revision: str | None = None,
        device: str | None = None,
        dtype: str = "float32",
        batch_size: int = 1,
    ) -> None:
        """Load the model; no network is used.

        Args:
            folder: its files.
            model: its name, for the identity.
            revision: `<digest of the folder> <dtype>`; checked where it is given.
            device: the first CUDA device where there is one, else 'cpu'.
            dtype: one of `DTYPES`; in the revision, because it decides answers.
            batch_size: greedy prompts at once.

        Raises:
            MemreproError: if the folder is another model's, has no chat template, or does not fit
                its own configuration.
        """
        if dtype not in DTYPES or batch_size < 1:
            raise MemreproError(
                f"model {model!r} was asked for in {dtype!r} with batches of {batch_size}: it must "
                f"be one of {', '.join(DTYPES)}, and batches of at least 1"
            )
        found = f"{folder_digest(folder)} {dtype}"
        if revision not in {None, found}:
            raise MemreproError(
                f"model {model!r} in {folder} has the revision {found!r}, and {revision!r} is "
                "expected: it is another model, or another precision"
            )
        import torch

        self.identity = ModelIdentity(model, found)
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._batch_size = batch_size
        with quietly():
            loaded = load_chat_model(folder, model, dtype, self._device)
        self._tokenizer, self._model, self._ends = loaded
        self._maker = (
            f"transformers {version('transformers')}, torch {version('torch')}, "
            f"{self._device.partition(':')[0]}"
        )
        limits = self._model.config.get_text_config()
        self._context = int(limits.max_position_embeddings)
        # Longest first, so that none is broken through a shorter one inside it.
        self._control = sorted(self._tokenizer.get_added_vocab(), key=lambda t: (-len(t), t))

    def stream(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Prompt, Answer]]:
        """Each prompt with its answer, batch by batch.

        Raises:
            MemreproError: if the chat template does not take a prompt's roles, or the device's
                memory is full.
        """
        upcoming = iter(prompts)
        while some := list(islice(upcoming, self._batch_size)):
            for batch in _alike(some):
                yield from zip(batch, self._answers(batch), strict=True)

    def _answers(self, batch: list[Prompt]) -> list[Answer]:
        """The answers to prompts of equal parameters."""
        if batch[0].parameters.options:
            return [self._choice(prompt) for prompt in batch]
        texts = [self._as_chat(prompt) for prompt in batch]
        room = self._context - batch[0].parameters.maximum_tokens
        sizes = [len(ids) for ids in self._tokenizer(texts, add_special_tokens=False)["input_ids"]]
        fitting = [i for i, size in enumerate(sizes) if size <= room]
        answers = [self._answer("", size, 0, 0.0, TOO_LONG) for size in sizes]
        if fitting:
            began = time.perf_counter()
            said = self._generate([texts[i] for i in fitting], batch[0])
            share = (time.perf_counter() - began) / len(fitting)
            for i, (text, tokens, finish) in zip(fitting, said, strict=True):
                answers[i] = self._answer(text, sizes[i], tokens, share, finish)
        return answers

    def _choice(self, prompt: Prompt) -> Answer:
        """The likeliest option, by the log-probability of its own tokens summed."""
        chat, options = self._as_chat(prompt), prompt.parameters.options
        ids, *whole = self._tokenizer(
            [chat, *(chat + self._plain(option) for option in options)], add_special_tokens=False
        )["input_ids"]
        tails = [tuple(tokens[len(ids) :]) for tokens in whole if tokens[: len(ids)] == ids]
        if not all(tails) or len(set(tails)) < len(options):
            raise MemreproError(
                f"the tokenizer of {self.identity} does not tell {', '.join(map(repr, options))} "
                "apart from each other and from the chat before them: word the options otherwise"
            )
        if len(ids) + max(map(len, tails)) > self._context:
            return self._answer("", len(ids), 0, 0.0, TOO_LONG)
        began = time.perf_counter()
        with self._device_memory(1, len(ids)):
            scores = self._log_probabilities(ids, tails)
        best = scores.index(max(scores))
        seconds = time.perf_counter() - began
        return self._answer(
            options[best], len(ids), len(tails[best]), seconds, "stop", tuple(scores)
        )

    def _log_probabilities(self, ids: list[int], tails: list[tuple[int, ...]]) -> list[float]:
        """Of each continuation of a chat, by its tokens; normalised over the continuations."""
        import torch

        def following(tokens: Sequence[Sequence[int]], keep: int, **past: Any) -> tuple[Any, Any]:
            """Log-probabilities of what follows each of the last `keep` tokens, and the cache."""
            at = torch.tensor(tokens, device=self._device)
            made = self._model(input_ids=at, logits_to_keep=keep, use_cache=True, **past)
            return made.logits.double().log_softmax(-1), made.past_key_values

        head = self._model.get_output_embeddings()
        with torch.inference_mode(), head.register_forward_hook(self._in_float32):
            first, cache = following([ids], 1)
            sums = first[0, -1, [tail[0] for tail in tails]]
            if (longest := max(map(len, tails))) > 1:
                # What stands after an option's own end is not looked at.
                padded = [(*tail, *[tail[-1]] * (longest - len(tail))) for tail in tails]
                cache.batch_repeat_interleave(len(tails))
                later, _ = following([tail[:-1] for tail in padded], 0, past_key_values=cache)
                own = later.gather(2, torch.tensor(padded, device=self._device)[:, 1:, None])[
                    ..., 0
                ]
                sums = sums + torch.stack(
                    [row[: len(tail) - 1].sum() for row, tail in zip(own, tails, strict=True)]
                )
            return list(sums.log_softmax(0).tolist())

    def _in_float32(self, _head: Any, states: tuple[Any, ...], _logits: Any) -> Any:
        """A forward hook: the head's logits from its input in float32: 8 bits are too coarse."""
        import torch

        if states[0].dtype == torch.float32:
            return None
        return torch.nn.functional.linear(states[0].float(), *self._wide_head)

    @cached_property
    def _wide_head(self) -> tuple[Any, Any]:
        """The head's weight and bias in float32, made once, as each pass needs it."""
        head = self._model.get_output_embeddings()
        bias = getattr(head, "bias", None)
        return head.weight.float(), None if bias is None else bias.float()

    def _answer(
        self,
        text: str,
        prompt_tokens: int,
        answer_tokens: int,
        seconds: float,
        finish: str,
        scores: tuple[float, ...] = (),
    ) -> Answer:
        model, revision = self.identity.model, self.identity.revision
        return Answer(
            text,
            prompt_tokens,
            answer_tokens,
            seconds,
            model,
            revision,
            finish,
            self._maker,
            scores,
        )

    def _as_chat(self, prompt: Prompt) -> str:
        messages = [{"role": m.role, "content": self._plain(m.content)} for m in prompt.messages]
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    messages, tokenize=False, add_generation_prompt=True
                )
            )
        # A template can raise anything, by its own words or by a mistake in it.
        except Exception as error:
            raise MemreproError(
                f"the chat template of {self.identity} does not take messages of "
                f"{', '.join(m.role for m in prompt.messages)} ({error}): put the system message "
                "into the user's"
            ) from error

    def _plain(self, text: str) -> str:
        for token in self._control:
            if token in text:
                text = text.replace(token, f"{token[0]}{_APART}{token[1:]}")
        return text

    def _generate(self, texts: list[str], prompt: Prompt) -> list[tuple[str, int, str]]:
        """Text, tokens and finish reason of each chat; all with the first one's parameters."""
        import torch

        asked = prompt.parameters
        inputs = self._tokenizer(
            texts, add_special_tokens=False, padding=True, return_tensors="pt"
        ).to(self._device)
        sampled = asked.temperature > 0
        settings: dict[str, Any] = {"do_sample": sampled}
        if sampled:
            settings |= {"temperature": asked.temperature, "top_k": 0, "top_p": 1.0}
        config = _generation(
            max_new_tokens=asked.maximum_tokens,
            eos_token_id=self._ends,
            pad_token_id=self._tokenizer.pad_token_id,
            stop_strings=list(asked.stop) or None,
            **settings,
        )
        devices = [self._device] if self._device.startswith("cuda") else []
        with (
            self._device_memory(*inputs["input_ids"].shape),
            # The caller's own random numbers stay as they were.
            torch.random.fork_rng(devices),
            torch.inference_mode(),
            quietly(),
        ):
            torch.manual_seed(asked.seed)
            made = self._model.generate(
                **inputs, generation_config=config, tokenizer=self._tokenizer
            )
        new = made[:, inputs["input_ids"].shape[1] :].tolist()
        return [self._decoded(tokens, asked.stop) for tokens in new]

    @contextmanager
    def _device_memory(self, prompts: int, tokens: int) -> Iterator[None]:
        import torch

        try:
            yield
        except torch.OutOfMemoryError as error:
            raise MemreproError(
                f"{self.identity} ran out of the device's memory on {prompts} prompts of up to "
                f"{tokens} tokens: use a smaller batch_size; answers before these are kept"
            ) from error

    def _decoded(self, tokens: Sequence[int], stop: Sequence[str]) -> tuple[str, int, str]:
        """One row of new tokens, cut where the answer ends."""
        size = next((i for i, token in enumerate(tokens) if token in self._ends), len(tokens))
        text = str(self._tokenizer.decode(tokens[:size], skip_special_tokens=True))
        if found := [at for s in stop if (at := text.find(s)) >= 0]:
            # The row is padded from where it stopped.
            while tokens[size - 1] == self._tokenizer.pad_token_id:
                size -= 1
            return text[: min(found)], size, "stop"
        ended = size < len(tokens)
        return text, size + ended, "stop" if ended else "length"


def _alike(prompts: Sequence[Prompt]) -> Iterator[list[Prompt]]:
    """Runs of prompts that can share a batch: greedy, free in words, and of equal parameters."""
    batch: list[Prompt] = []
    for prompt in prompts:
        asked = prompt.parameters
        if batch and (asked != batch[0].parameters or asked.temperature or asked.options):
            yield batch
            batch = []
        batch.append(prompt)
    yield batch


def load_chat_model(folder: Path, name: str, dtype: str, device: str) -> tuple[Any, Any, list[int]]:
    """The tokenizer, the model, and the tokens that end an answer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, padding_side="left"
        )
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=getattr(torch, dtype),
            output_loading_info=True,
        )
    # The libraries below raise errors of many families, safetensors' own among them.
    except Exception as error:
        raise MemreproError(
            f"model {name!r} in {folder} cannot be loaded ({type(error).__name__}: "
            f"{' '.join(str(error).split())[:200]}): its files are damaged, or it needs code of "
            "its own, which is never run"
        ) from error
    model, info = loaded
    # transformers would draw these at random.
    if lacking := sorted(info["missing_keys"]):
        raise MemreproError(
            f"model {name!r}: the weights in {folder} lack {len(lacking)} tensors of a "
            f"{type(model).__name__}, first {lacking[0]}: they are another model's"
        )
    if not tokenizer.chat_template:
        raise MemreproError(
            f"model {name!r} in {folder} has no chat template: use an instruction-tuned model"
        )
    stated = model.generation_config.eos_token_id
    stated = tokenizer.eos_token_id if stated is None else stated
    ends = [stated] if isinstance(stated, int) else list(stated or [])
    if not ends:
        raise MemreproError(f"model {name!r} in {folder} names no token that ends an answer")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(ends[0])
    # What the folder says of sampling must not slip in beside the prompt's parameters.
    model.generation_config = _generation()
    return tokenizer, model.to(device).eval(), ends


def _generation(**settings: Any) -> Any:
    """The settings of a generation by transformers, all else at its neutral defaults."""
    from transformers import GenerationConfig

    make: Any = GenerationConfig
    return make(**settings)
