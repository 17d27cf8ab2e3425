"""What a program is truly worth: expected scores worked out exactly, without drawing anything."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from redraft.records import Loop
from redraft.testing.simulated.effects import binomial, most_votes_right
from redraft.testing.simulated.notes import PARTS

FORM_WEIGHT = 1.0
WORDS_WEIGHT = 3.0

_State = tuple[bool, int]  # whether a draft is well formed, and how many words it uses
_States = Mapping[_State, float]
_Live = Mapping[tuple[_State, _State], float]  # first draft and current one: probability


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """How likely everything is that can happen to one kind of row.

    Attributes:
        finished: That a first draft ends before it is cut off.
        formed: That a finished draft has the form of a note.
        word: That a word is used, each for itself.
        right: That one vote of the checker is right.
        closes: That the reviser closes a gap, each for itself.
        breaks: That the reviser loses a word that was there.
    """

    finished: float
    formed: float
    word: float
    right: float
    closes: float
    breaks: float


def draft_value(state: _State) -> float:
    """Return the rubric's score of a draft, in [0, 1]."""
    formed, words = state
    whole = FORM_WEIGHT + WORDS_WEIGHT
    return (FORM_WEIGHT * formed + WORDS_WEIGHT * words / PARTS) / whole


def expected_score(chances: Chances, loop: Loop, *, votes: int) -> float:
    """Return the expected score of an answer, in [0, 1].

    Args:
        chances: What can happen.
        loop: Settings of the loop.
        votes: Votes on a draft; 1 where code checks it.
    """
    drafts = _drafts(chances)
    if not loop.enabled:
        return math.fsum(p * draft_value(state) for state, p in drafts.items())
    right = most_votes_right(chances.right, votes)
    live: _Live = {(state, state): p for state, p in drafts.items()}
    total = 0.0
    for attempt in range(1, _most_attempts(loop) + 1):
        if attempt > 1:
            total += _unfinished(live, chances, loop)
            live = _again(live, chances, loop)
        failed = {states: p * (1.0 - _accepts(states[1], right)) for states, p in live.items()}
        total += math.fsum((p - failed[s]) * draft_value(s[1]) for s, p in live.items())
        live = failed
    return total + _returned(live, loop)


def _most_attempts(loop: Loop) -> int:
    """Return how many attempts there are at most.

    With one rule the set of unmet ones never changes, so `revise` gives up after `patience`.
    """
    if loop.on_fail == "revise":
        return 1 + min(loop.max_revisions, loop.patience)
    return 1 + loop.max_revisions


def _drafts(chances: Chances) -> _States:
    """Return how likely each first draft is; what is missing from 1 was cut off."""
    words = binomial(PARTS, chances.word)
    forms = {True: chances.formed, False: 1.0 - chances.formed}
    return {
        (formed, n): chances.finished * forms[formed] * words[n]
        for formed in forms
        for n in range(PARTS + 1)
    }


def _accepts(state: _State, right: float) -> float:
    return right if state == (True, PARTS) else 1.0 - right


def _returned(live: _Live, loop: Loop) -> float:
    """Return what answers are worth that end now without having passed.

    All their attempts have the same unmet rule, so the best one is the earliest.
    """
    place = 1 if loop.returned == "last" else 0
    return math.fsum(p * draft_value(states[place]) for states, p in live.items())


def _unfinished(live: _Live, chances: Chances, loop: Loop) -> float:
    """Return what answers are worth whose next draft is cut off; the reviser always finishes."""
    if loop.on_fail == "revise":
        return 0.0
    return (1.0 - chances.finished) * _returned(live, loop)


def _again(live: _Live, chances: Chances, loop: Loop) -> _Live:
    """Return the drafts after one more try."""
    after: defaultdict[tuple[_State, _State], float] = defaultdict(float)
    drafts = _drafts(chances)
    for (first, now), p in live.items():
        reached = drafts if loop.on_fail == "resample" else _revised(now, chances)
        for state, q in reached.items():
            after[first, state] += p * q
    return after


def _revised(state: _State, chances: Chances) -> _States:
    formed, words = state
    closed = binomial(PARTS - words, chances.closes)
    kept = binomial(words, 1.0 - chances.breaks)
    well = 1.0 if formed else chances.closes
    reached: defaultdict[_State, float] = defaultdict(float)
    for form, likely in ((True, well), (False, 1.0 - well)):
        for new, p in enumerate(closed):
            for old, q in enumerate(kept):
                reached[form, old + new] += likely * p * q
    return reached
