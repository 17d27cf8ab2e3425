"""What work would take before it is done: calls, tokens and dollars of each role."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from redraft.lm import Model, Models
from redraft.program import Program
from redraft.records import Options, Role, Row
from redraft.signatures import DRAFT, GAPS, PREVIOUS_DRAFT

_PREDICTORS: Mapping[Role, str] = {"drafter": "draft", "checker": "check", "reviser": "revise"}
# Prompts are counted on a few rows, since a provider counts one at a time.
_SAMPLED_ROWS = 3
# What the checker writes about one criterion: a reason, a status, a quote, a gap.
_FINDING_TOKENS = 60
# A reply of unknown length is taken to use this part of what it may, and so are thoughts.
_USED_PART = 0.25
_GAPS = "- One sentence about what is missing."


@dataclass(frozen=True, slots=True)
class Span:
    """An amount in three cases.

    Attributes:
        best: If every first draft passes.
        expected: Between the two, as if half of the drafts passed.
        worst: If no draft passes, every checker's reply needs its repair turn, and every reply is
            as long as it may be.
    """

    best: float
    expected: float
    worst: float

    def __add__(self, other: "Span") -> "Span":
        return Span(
            self.best + other.best, self.expected + other.expected, self.worst + other.worst
        )

    def times(self, other: "Span") -> "Span":
        """Return the product, case by case."""
        return Span(
            self.best * other.best, self.expected * other.expected, self.worst * other.worst
        )

    def whole(self) -> "Span":
        """Return the amount in whole numbers."""
        return Span(round(self.best), round(self.expected), round(self.worst))


NOTHING = Span(0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Calls that one program would make.

    Attributes:
        program: With what it says to its models.
        rows: Rows like those it would answer; some of them are rendered.
        calls: By role, tries after an outage not counted.
        demos: Demos that a prompt would have beyond the program's own at most.
        batch: Whether the calls are handed in as a batch, which has prices of its own.
    """

    program: Program
    rows: Sequence[Row]
    calls: Mapping[Role, Span]
    demos: int = 0
    batch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleEstimate:
    """What the calls of one role would take.

    Attributes:
        role: The role.
        model: The name of its model.
        calls: How many.
        tokens: Sent and received; worst is close to a bound, best and expected are guesses.
        cost_usd: Dollars, without what a cache of prompts saves; None where a price is not known.
        is_counted: Whether the provider counted the prompts; else four bytes are taken for a token,
            or the model counted the texts alone.
    """

    role: Role
    model: str
    calls: Span
    tokens: Span
    cost_usd: Span | None
    is_counted: bool

    def __add__(self, other: "RoleEstimate") -> "RoleEstimate":
        unknown = self.cost_usd is None or other.cost_usd is None
        return RoleEstimate(
            role=self.role,
            model=self.model,
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            cost_usd=None if unknown else (self.cost_usd or NOTHING) + (other.cost_usd or NOTHING),
            is_counted=self.is_counted and other.is_counted,
        )


def calls_by_role(program: Program, answers: int) -> dict[Role, Span]:
    """Return the calls of a number of answers; roles that are never called are left out."""
    drafts = len(program.draft.predictors())
    loop = program.loop
    if not loop.enabled or not (program.checks or program.criteria):
        return {"drafter": Span(drafts * answers, drafts * answers, drafts * answers)}
    asked = 1 if program.criteria else 0
    # Only must-pass criteria are voted on, and only until most votes agree.
    votes = loop.votes if any(c.must_pass for c in program.criteria) else 1
    further = Span(0, 1 - 0.5**loop.max_revisions, loop.max_revisions)
    revises = "revise" in dict(program.named_predictors())
    drafter, again = Span(1, 1, 1), further
    attempts = drafter + further
    counted: dict[Role, Span] = {"drafter": drafter if revises else drafter + again}
    if asked:
        counted["checker"] = attempts.times(Span(votes // 2 + 1, votes // 2 + 1, 2 * votes))
    if revises:
        counted["reviser"] = again
    per_call = {"drafter": drafts}
    return {
        role: span.times(_all(answers * per_call.get(role, 1))) for role, span in counted.items()
    }


def answer_calls(program: Program, answers: int) -> Span:
    """Return the calls of a number of answers over all roles."""
    return sum(calls_by_role(program, answers).values(), NOTHING).whole()


def answer_work(program: Program, rows: Sequence[Row], *, batch: bool = False) -> Work:
    """Return the work of answering each row once."""
    calls = calls_by_role(program, len(rows))
    return Work(program=program, rows=rows, calls=calls, batch=batch)


def shared_work(program: Program, rows: Sequence[Row], calls: Span, *, demos: int = 0) -> Work:
    """Return the work of a number of calls, shared out to roles as one answer shares them.

    Args:
        program: What is called.
        rows: Rows like those it would answer.
        calls: Over all roles.
        demos: Demos that a prompt would have beyond the program's own at most.
    """
    roles = calls_by_role(program, 1)
    total = sum(roles.values(), NOTHING)
    share = Span(
        calls.best / total.best, calls.expected / total.expected, calls.worst / total.worst
    )
    shared = {role: span.times(share) for role, span in roles.items()}
    return Work(program=program, rows=rows, calls=shared, demos=demos)


def estimate(works: Sequence[Work], models: Models) -> tuple[RoleEstimate, ...]:
    """Return what work would take, role by role; nothing is spent.

    Raises:
        InputError: A row does not fit the program.
        PrepareError: The program's `prepare` cannot read a row.
        ModelError: No model is named for a role, or its key is refused.
    """
    found: dict[Role, RoleEstimate] = {}
    for work in works:
        for role, calls in work.calls.items():
            if calls == NOTHING:
                continue
            one = _role_estimate(work, role, calls, models.of(role))
            found[role] = found[role] + one if role in found else one
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class _Size:
    """Tokens of one call."""

    prompt: Span
    reply: Span
    is_counted: bool


def _role_estimate(work: Work, role: Role, calls: Span, model: Model) -> RoleEstimate:
    size = _size(work, role, model)
    return RoleEstimate(
        role=role,
        model=model.name,
        calls=calls,
        tokens=calls.times(size.prompt + size.reply),
        cost_usd=_dollars(size, calls, model, batch=work.batch),
        is_counted=size.is_counted,
    )


def _dollars(size: _Size, calls: Span, model: Model, *, batch: bool) -> Span | None:
    if model.prices is None:
        return None if model.cost is None else calls.times(_all(model.cost))
    prices = model.prices.in_batch() if batch else model.prices
    if prices is None:
        return None
    prompt, reply = size.prompt.whole(), size.reply.whole()
    return calls.times(
        Span(
            prices.likely(input_tokens=prompt.best, output_tokens=reply.best),
            prices.likely(input_tokens=prompt.expected, output_tokens=reply.expected),
            prices.most(input_tokens=prompt.worst, output_tokens=reply.worst),
        )
    )


def _size(work: Work, role: Role, model: Model) -> _Size:
    """Return the mean size of a role's calls over its predictors and some rows."""
    program, key = work.program, _PREDICTORS[role]
    names = [n for n, _ in program.named_predictors() if n == key or n.startswith(f"{key}.")]
    sizes = [
        _call_size(work, role, model, name, row)
        for name in names
        for row in _spread(work.rows, _SAMPLED_ROWS)
    ]
    return _Size(
        _mean([size.prompt for size in sizes]),
        _mean([size.reply for size in sizes]),
        is_counted=all(size.is_counted for size in sizes),
    )


def _call_size(work: Work, role: Role, model: Model, name: str, row: Row) -> _Size:
    program = work.program
    draft = _draft_of(row)
    fields = program.facts(row.inputs, row.id)
    fields |= {DRAFT: draft, PREVIOUS_DRAFT: draft, GAPS: _GAPS}
    request = replace(program.render(name, fields), model=model.name)
    counted, bound = model.count_request(request), model.bound(request)
    most = _max_tokens(program, role)
    drafted = _draft_tokens(program, model, draft)
    demo = drafted + sum(model.likely_tokens(str(value)) for value in row.inputs.values())
    thoughts = max(0, bound.output_tokens - most)
    longest = 0
    if role != "drafter":
        # A draft of full length; and for the checker its first reply, which a repair turn repeats.
        longest = _max_tokens(program, "drafter") + (most if role == "checker" else 0)
    reply = drafted
    if role == "checker":
        reply = min(most, _FINDING_TOKENS * len(program.criteria))
    likely = reply + _USED_PART * thoughts
    return _Size(
        Span(
            counted.tokens,
            counted.tokens + demo * work.demos / 2,
            counted.tokens + demo * work.demos + longest,
        ),
        Span(likely, likely, bound.output_tokens),
        is_counted=counted.is_exact,
    )


def _draft_of(row: Row) -> str:
    known = row.reference.get("draft")
    return known if isinstance(known, str) else ""


def _draft_tokens(program: Program, model: Model, draft: str) -> float:
    most = _max_tokens(program, "drafter")
    return min(most, model.likely_tokens(draft)) if draft else _USED_PART * most


def _max_tokens(program: Program, role: Role) -> int:
    return program.options.get(role, Options()).max_tokens


def _spread(rows: Sequence[Row], count: int) -> list[Row]:
    """Return some rows from all over the file, the first one included."""
    step = max(1, len(rows) // count)
    return list(rows[::step][:count])


def _mean(spans: Sequence[Span]) -> Span:
    return Span(
        fmean(span.best for span in spans),
        fmean(span.expected for span in spans),
        fmean(span.worst for span in spans),
    )


def _all(value: float) -> Span:
    return Span(value, value, value)
