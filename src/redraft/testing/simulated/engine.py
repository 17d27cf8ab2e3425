"""The simulated model as an engine: a reply depends on nothing but the request."""

import hashlib
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dspy.lm15 import Message, Request, Response, Usage

from redraft.lm.engine import Poll, complete_in_thread
from redraft.lm.script import FinishReason, Reply, count_words, cut_words
from redraft.testing.simulated.effects import Part, Prompt, chance
from redraft.testing.simulated.mind import Mind
from redraft.testing.simulated.notes import (
    KINDS,
    Content,
    Task,
    find_task,
    gap_of,
    read_draft,
    write_draft,
)
from redraft.testing.simulated.proposals import propose, shaped
from redraft.testing.simulated.reading import (
    Turns,
    given_draft,
    part_of,
    read_prompt,
    turns_of,
    verdict_json,
)

# A reply that ends by itself has no more tokens than this.
REPLY_TOKENS = 96

_RUNS_ON = "and then there is more to say " * 16
_PROMPTS_KEPT = 1024
_DRAWS = struct.Struct(">16I")


@dataclass(frozen=True, slots=True)
class _View:
    """A prompt that was read: what it shows, and the log-odds under it by kind of task."""

    prompt: Prompt
    odds: Mapping[str, tuple[float, ...]]
    shown: Mapping[str, str]


class Simulated:
    """An engine whose replies are drawn from a latent model.

    It tells drafter, checker and reviser apart by the request, reads instructions and demos from
    it, and takes any other request for one that asks for better instructions. A drafter or
    reviser that is shown a demo of the very task it is given repeats the demo: a prompt that
    holds a row looks better on that row than it is. Equal texts and seed get an equal reply;
    temperature changes nothing. Safe under threads.

    Args:
        mind: The latent model.
        name: The name of the model, `simulated/...`.
        sentences: What proposals of instructions are made of.
        parallel: Requests that callers may have in flight at once; 1 or more.
    """

    cost_usd: float | None = 0.0
    supports_response_schema = False
    context_tokens: int | None = None
    supported_params = frozenset({"max_tokens", "seed"})

    def __init__(
        self, mind: Mind, *, name: str, sentences: Sequence[str] = (), parallel: int = 8
    ) -> None:
        self.name = name
        self.parallel = parallel
        text = repr((mind, tuple(sentences)))
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()
        self._mind = mind
        self._sentences = tuple(sentences)
        self._view: Callable[[Part, str, tuple[str, ...]], _View] = lru_cache(_PROMPTS_KEPT)(
            self._read
        )
        self._tokens: Callable[[str], int] = lru_cache(_PROMPTS_KEPT)(count_words)

    def complete(self, request: Request, poll: Poll) -> Response:
        """Answer as the latent model does."""
        poll()
        turns = turns_of(request)
        reply = self._reply(turns, request.config.seed)
        reply = _cut(reply, request.config.max_tokens)
        # Instructions and demos repeat from request to request, tasks do not.
        sent = sum(map(self._tokens, (turns.system, *turns.shown))) + count_words(turns.last)
        return Response(
            id=None,
            model=self.name,
            message=Message.assistant(reply.text),
            finish_reason=reply.finish_reason,
            usage=Usage(input_tokens=sent, output_tokens=count_words(reply.text)),
        )

    async def acomplete(self, request: Request, poll: Poll) -> Response:
        """Answer as `complete` does, in a thread."""
        return await complete_in_thread(self.complete, request, poll)

    def reply(self, request: Request) -> Reply:
        """Answer as a script does, so that `scripted/FILE.py` can hold a simulated model."""
        return self._reply(turns_of(request), request.config.seed)

    def count_tokens(self, text: str) -> int | None:
        """Count words and punctuation marks."""
        return count_words(text)

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _reply(self, turns: Turns, seed: int | None) -> Reply:
        dice = _Dice(turns, seed)
        part = part_of(turns.last)
        task = find_task(turns.last)
        if part is None or task is None:
            texts = "\n".join((turns.system, turns.last))
            proposed = propose(self._sentences, random.Random(dice.mark))
            return Reply(shaped(f"{proposed} ({dice.mark})", texts))
        view = self._view(part, turns.system, turns.shown)
        if part == "check":
            return self._judged(view, task, given_draft(part, turns.last), dice)
        if task.text in view.shown:
            return Reply(view.shown[task.text])
        if part == "revise":
            return self._revised(view, task, given_draft(part, turns.last), dice)
        return self._drafted(view, task, dice)

    def _read(self, part: Part, system: str, shown: tuple[str, ...]) -> _View:
        prompt = read_prompt(part, system, shown)
        odds = {kind: self._mind.log_odds(prompt, kind) for kind in KINDS}
        return _View(prompt, odds, {demo.task: demo.reply for demo in prompt.demos})

    def _drafted(self, view: _View, task: Task, dice: "_Dice") -> Reply:
        finish, form, words = view.odds[task.kind]
        if dice.fails(0, finish):
            return Reply(_RUNS_ON, "length")
        odds = words + self._mind.level(task.group).ease
        used = tuple(w for n, w in enumerate(task.words, start=2) if not dice.fails(n, odds))
        return Reply(write_draft(Content(not dice.fails(1, form), used), mark=dice.mark))

    def _revised(self, view: _View, task: Task, draft: str, dice: "_Dice") -> Reply:
        before = read_draft(task, draft)
        (close,) = view.odds[task.kind]
        used = tuple(
            word
            for n, word in enumerate(task.words, start=2)
            if (
                dice.drawn(n) >= self._mind.breaks
                if word in before.words
                else not dice.fails(n, close)
            )
        )
        formed = before.formed or not dice.fails(1, close)
        return Reply(write_draft(Content(formed, used), mark=dice.mark))

    def _judged(self, view: _View, task: Task, draft: str, dice: "_Dice") -> Reply:
        content = read_draft(task, draft)
        (judge,) = view.odds[task.kind]
        accepted = content.whole is not dice.fails(0, judge)
        return Reply(verdict_json(None if accepted else gap_of(task, content)))


class _Dice:
    """Numbers that depend on nothing but the texts and the seed of a request."""

    __slots__ = ("_drawn", "mark")

    def __init__(self, turns: Turns, seed: int | None) -> None:
        text = "\x1e".join((str(seed), turns.system, *turns.shown, turns.last))
        digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=64).digest()
        self._drawn: tuple[int, ...] = _DRAWS.unpack(digest)
        self.mark = digest[-6:].hex()

    def drawn(self, number: int) -> float:
        """Return a number in [0, 1); there are fourteen that say nothing about the mark."""
        return self._drawn[number] / 2**32

    def fails(self, number: int, log_odds: float) -> bool:
        """Tell whether something with these log-odds of going well goes wrong."""
        return self.drawn(number) >= chance(log_odds)


def _cut(reply: Reply, max_tokens: int | None) -> Reply:
    if max_tokens is None or (max_tokens >= REPLY_TOKENS and reply.finish_reason == "stop"):
        return reply
    text, whole = cut_words(reply.text, max_tokens)
    finish: FinishReason = reply.finish_reason if whole else "length"
    return Reply(text, finish)
