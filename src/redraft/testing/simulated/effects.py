"""What a prompt does to a latent skill: cues in the instructions, demos, and length."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Part = Literal["draft", "check", "revise"]


@dataclass(frozen=True, slots=True)
class ShownDemo:
    """One demo as the simulated model sees it.

    Attributes:
        kind: Kind of its task.
        task: Text of its task.
        reply: What the demo replies.
        worth: In [0, 1): how much can be learned from it; depends on the task alone.
        good: Whether its reply is right: a whole draft, or a true verdict.
    """

    kind: str
    task: str
    reply: str
    worth: float
    good: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a predictor is shown beside its task.

    Attributes:
        part: Which predictor it is.
        instructions: Its system text, in lower case.
        demos: In order.
        tokens: Tokens of instructions and demos together.
    """

    part: Part
    instructions: str
    demos: tuple[ShownDemo, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that change something where the instructions hold them.

    Attributes:
        words: In lower case.
        effect: Change of the log-odds; may be below 0.
    """

    words: str
    effect: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """The log-odds that something goes well, and what changes them.

    Attributes:
        base: Log-odds with no cue and no demo; infinite where it never goes wrong.
        cues: What instructions do.
        demo_least: What the worst of the good demos adds.
        demo_most: What the best of them adds; each task has a worth of its own in between.
        demo_bad: What a demo with a bad reply adds; usually below 0.
        demos_most: What all demos together add at most, above 0; each further one adds less.
        needs: Words without which demos add nothing.
        transfer: Share in [0, 1] that a demo adds for tasks of another kind.
        free_tokens: Tokens that a prompt may have without harm; None for no end.
        per_token: What each further token takes away.
    """

    base: float
    cues: tuple[Cue, ...] = ()
    demo_least: float = 0.0
    demo_most: float = 0.0
    demo_bad: float = 0.0
    demos_most: float = 1.0
    needs: str = ""
    transfer: float = 1.0
    free_tokens: int | None = None
    per_token: float = 0.0

    def log_odds(self, prompt: Prompt, kind: str) -> float:
        """Return the log-odds for tasks of a kind under a prompt."""
        told = math.fsum(cue.effect for cue in self.cues if cue.words in prompt.instructions)
        return self.base + told + self._learned(prompt, kind) - self._worn(prompt.tokens)

    def _learned(self, prompt: Prompt, kind: str) -> float:
        if self.needs not in prompt.instructions:
            return 0.0
        shares = ((1.0 if d.kind == kind else self.transfer) for d in prompt.demos)
        added = [share * self._adds(d) for share, d in zip(shares, prompt.demos, strict=True)]
        return self.demos_most * math.tanh(math.fsum(added) / self.demos_most)

    def _adds(self, demo: ShownDemo) -> float:
        if not demo.good:
            return self.demo_bad
        return self.demo_least + demo.worth * (self.demo_most - self.demo_least)

    def _worn(self, tokens: int) -> float:
        return (
            0.0 if self.free_tokens is None else self.per_token * max(0, tokens - self.free_tokens)
        )


ALWAYS = Skill(base=math.inf)
NEVER = Skill(base=-math.inf)
CHANCE = Skill(base=0.0)


def chance(log_odds: float) -> float:
    """Return a probability; 0 and 1 exactly where the log-odds are infinite."""
    if log_odds < 0:
        return 1.0 - chance(-log_odds)
    return 1.0 / (1.0 + math.exp(-log_odds))


def most_votes_right(right: float, votes: int) -> float:
    """Return the chance that most of an odd number of votes are right."""
    needed = votes // 2 + 1
    return math.fsum(binomial(votes, right)[needed:])


def binomial(trials: int, probability: float) -> Sequence[float]:
    """Return the probability of each number of successes, from none to all."""
    return [
        math.comb(trials, n) * probability**n * (1.0 - probability) ** (trials - n)
        for n in range(trials + 1)
    ]
