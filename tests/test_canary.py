"""What the checker knows never reaches whoever writes: no id, statement, measure or docstring.

Every rule of every program carries a canary, a word that occurs nowhere else. Recording models walk
all the paths of the loop and of a compile, with checkers that try to pass the word on.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Request

from redraft.budget import RunCaps
from redraft.calls import NoReply, RecordedCall
from redraft.comparison.alternatives import rules_pasted_in
from redraft.compiler import compile_program
from redraft.events import CallEnded, Event
from redraft.lm.wire import message_text, request_json
from redraft.optimizers import SearchLimits
from redraft.program import AnswerRun, Program, load_base
from redraft.project import find_root
from redraft.records import Check, Criterion, Loop
from redraft.replies import Reply as CallReply
from redraft.testing import Scripted, models_of
from redraft.trainset import load_trainset

WORD = "canary"
RULE_WORD = "budgerigar"
ROOT = find_root(Path(__file__).parent)
TEMPLATE = ROOT / "src" / "redraft" / "cli" / "template"
SAMPLES: dict[str, Path] = {
    path.parent.name: root
    for root in (ROOT, TEMPLATE)
    for path in sorted((root / "trainsets").glob("*/rows.*"))
}

PROGRAM = f'''
"""Writes a notice. {WORD}_module"""

import dspy

from redraft.program import Program
from redraft.records import Check, Criterion, Loop


class Draft(dspy.Signature):
    """Write the notice that the request asks for."""

    request: str = dspy.InputField()
    notice: str = dspy.OutputField()


def read_request(inputs):
    """Return the day. {WORD}_prepare"""
    return {{"day": inputs["request"].split()[-1].rstrip(".")}}


def says_the_day(facts, draft):
    """Tell whether the day is said. {WORD}_check"""
    return None if facts["day"] in draft else "The day is missing; say when."


PROGRAM = Program(
    draft=Draft,
    prepare=read_request,
    checks=[Check("{WORD}_day", says_the_day, "The {RULE_WORD} day is named.")],
    criteria=[
        Criterion("{WORD}_tone", "The {WORD} tone of every sentence is as kind as can be."),
        Criterion("{WORD}_plain", "Plain {WORD}.", must_pass=False),
    ],
    loop=LOOP,
)
'''

RUBRIC = f'''
"""Judges a notice. {WORD}_metrics"""

from redraft.rubric import Measure, Rubric


def day(row, draft):
    """Tell whether the day is said. {WORD}_measure"""
    wanted = row.inputs["request"].split()[-1].rstrip(".")
    return (1.0, "") if wanted in draft else (len(draft) % 7 / 10, "The {WORD} day is not there.")


RUBRIC = Rubric(
    [Measure("{WORD}_day", 0.8, day), Measure("{WORD}_length", 0.2, lambda row, draft: 0.5)]
)
'''


def secretive(root: Path, loop: str = "Loop()") -> Program:
    """Return the small program of a project in which everything that is secret says so."""
    lines = (
        json.dumps(
            {
                "id": f"r{number}",
                "inputs": {"request": f"Lift {number} stops on day {number}."},
                "reference": {"draft": f"Lift {number} stops on day {number}."},
                "split": split,
            }
        )
        for number, split in enumerate(["train", "val", "val", "gate", "gate", "test"] * 6)
    )
    written = {
        "pyproject.toml": '[tool.redraft]\nlm = "scripted/none.json"\n',
        "programs/secretive.py": PROGRAM.replace("LOOP", loop),
        "metrics/secretive.py": RUBRIC,
        "trainsets/secretive/rows.jsonl": "\n".join(lines),
    }
    for name, text in written.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return load_base(root, "secretive")


def marked(program: Program) -> Program:
    """Return a program like the one given, with canaries in all that is secret."""

    def prepare(inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the program prepares. canary"""
        return {k: v for k, v in program.facts(inputs).items() if k not in inputs}

    statement = f"Every sentence of the {WORD} draft is as kind as a sentence can be."
    criteria = program.criteria or (Criterion("tone", statement),)
    return Program(
        program.draft,
        checks=[_marked_check(check, number) for number, check in enumerate(program.checks)],
        criteria=[
            replace(c, id=f"{WORD}_criterion_{number}", statement=f"{WORD} {c.statement} {WORD}")
            for number, c in enumerate(criteria)
        ],
        prepare=prepare,
        prepared=program.prepared,
        draft_field=program.draft_field,
        options=program.options,
        loop=program.loop,
    )


def _marked_check(check: Check, number: int) -> Check:
    def gap(facts: Mapping[str, object], draft: str) -> str | None:
        return check.fn(facts, draft)

    gap.__doc__ = f"{WORD}_docstring_{number}"
    return replace(check, id=f"{WORD}_check_{number}", fn=gap, rule=f"{WORD} {check.rule}")


def said(program: Program, **fields: str) -> str:
    """Return a checker's reply in which every criterion is unmet."""
    finding = {"reason": "r", "status": "unmet", "quote": "", "gap": "Say it kindly."} | fields
    return json.dumps({"findings": {c.id: finding for c in program.criteria}})


def leaks(program: Program) -> dict[str, str]:
    """Return replies of checkers that try to pass on what they know, by the way they take."""
    first = program.criteria[0]
    half = " ".join(first.statement.split()[:9])
    return {
        "gap_honest": said(program),
        "gap_statement": said(program, gap=f"You must know: {first.statement}"),
        "gap_half_a_statement": said(program, gap=f"You must know: {half}"),
        "gap_id": said(program, gap=f"Mind {first.id}."),
        "gap_id_in_capitals": said(program, gap=f"Mind {first.id.upper()}!"),
        "gap_id_with_zero_width": said(program, gap="Mind " + "\u200b".join(first.id)),
        "gap_check_id": said(program, gap=f"Mind {[*program.checks, first][0].id}."),
        "reason": said(program, reason=f"{first.id}: {first.statement}"),
        "quote": said(program, quote=first.statement),
        "unknown_entry": json.dumps({"findings": {first.statement: {"status": first.id}}}),
        "no_json": first.statement,
    }


LEAKS = (
    "gap_honest",
    "gap_statement",
    "gap_half_a_statement",
    "gap_id",
    "gap_id_in_capitals",
    "gap_id_with_zero_width",
    "gap_check_id",
    "reason",
    "quote",
    "unknown_entry",
    "no_json",
)
LOOPS = {
    "revise": Loop(ask_after_failed_checks=True),
    "resample": Loop(on_fail="resample", ask_after_failed_checks=True),
    "best": Loop(returns="best", max_revisions=3, patience=9, ask_after_failed_checks=True),
    "votes": Loop(votes=3, max_revisions=1, ask_after_failed_checks=True),
    "checks_first": Loop(),
}


def echo(request: Request) -> str:
    """Write back everything that was sent, so that a word that got in would get on."""
    turns = " ".join(message_text(m) for m in request.messages)
    return f"{request.config.seed} {len(turns)} {request.system} {turns}"[:1500]


@dataclass(slots=True)
class Cast:
    """Recording models of every role."""

    checker: Callable[[Request], str]
    drafter: Scripted = field(default_factory=lambda: Scripted(echo, name="scripted/drafter"))
    reviser: Scripted = field(default_factory=lambda: Scripted(echo, name="scripted/reviser"))
    proposer: Scripted = field(default_factory=lambda: Scripted(echo, name="scripted/proposer"))
    asked: Scripted = field(init=False)

    def __post_init__(self) -> None:
        self.asked = Scripted(self.checker, name="scripted/checker")

    def answering(self, program: Program) -> Program:
        """Return the program played by this cast."""
        return program.with_models(
            models_of(
                drafter=self.drafter,
                checker=self.asked,
                reviser=self.reviser,
                proposer=self.proposer,
            )
        )

    @property
    def written_to(self) -> tuple[Request, ...]:
        """Every request to somebody who writes."""
        return (*self.drafter.requests, *self.reviser.requests, *self.proposer.requests)


def heard(request: Request) -> bool:
    """Tell whether a canary is in a request, however it is written."""
    text = request_json(request).casefold()
    return WORD in text or WORD in text.replace("\u200b", "")


def repairing(first: str, second: str) -> Callable[[Request], str]:
    """Return a checker that says one thing first and another in its repair turn."""

    def reply(request: Request) -> str:
        again = "cannot be used" in message_text(request.messages[-1])
        return second if again else first

    return reply


def subject(name: str, tmp_path: Path) -> tuple[Program, dict[str, Any]]:
    """Return a program with canaries, and inputs that it takes."""
    if name not in SAMPLES:
        return secretive(tmp_path), {"request": "Lift 7 stops on day 7."}
    root = SAMPLES[name]
    row = load_trainset(root, name).rows[0]
    return marked(load_base(root, name)), dict(row.inputs)


@pytest.mark.parametrize("name", ["secretive", *SAMPLES])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("leak", LEAKS)
def test_no_path_of_the_loop_carries_a_canary(
    name: str, loop: str, leak: str, tmp_path: Path
) -> None:
    """Neither drafter nor reviser hears it, whatever the checker says, in two turns alike."""
    program, inputs = subject(name, tmp_path)
    reply = leaks(program)[leak]
    for second in (reply, said(program)):
        cast = Cast(repairing(reply, second))

        answer = cast.answering(program.with_loop(LOOPS[loop])).answer_run(inputs, AnswerRun())

        assert not answer.passed
        assert cast.drafter.requests
        assert not any(heard(request) for request in cast.written_to)
        assert all(heard(request) for request in cast.asked.requests)


@pytest.mark.parametrize("leak", LEAKS)
def test_the_gap_gets_through_where_the_canary_does_not(leak: str, tmp_path: Path) -> None:
    """The reviser is really called, with the gap of the repair turn."""
    program = secretive(tmp_path).with_loop(LOOPS["revise"])
    cast = Cast(repairing(leaks(program)[leak], said(program)))

    cast.answering(program).answer(request="Lift 7 stops on day Monday.")

    assert cast.asked.requests
    assert len(cast.reviser.requests) == 2
    assert "- Say it kindly." in message_text(cast.reviser.requests[0].messages[-1])


@pytest.mark.parametrize("name", ["secretive", *SAMPLES])
@pytest.mark.parametrize("loop", ["revise", "resample", "votes"])
def test_a_resumed_answer_carries_no_canary(name: str, loop: str, tmp_path: Path) -> None:
    """Wherever it was interrupted, what goes on says no more than what went before."""
    program, inputs = subject(name, tmp_path)
    program = program.with_loop(LOOPS[loop])
    reply = repairing(leaks(program)["gap_statement"], said(program))
    events: list[Event] = []
    Cast(reply).answering(program).answer_run(inputs, AnswerRun(observe=events.append))
    made = [
        RecordedCall(event.outcome, event.usage)
        for event in events
        if isinstance(event, CallEnded) and isinstance(event.outcome, CallReply | NoReply)
    ]

    for count in range(len(made) + 1):
        cast = Cast(reply)
        run = AnswerRun(recorded=tuple(made[:count]))
        cast.answering(program).answer_run(inputs, run)
        assert not any(heard(request) for request in cast.written_to)


@pytest.mark.parametrize("name", SAMPLES)
def test_gaps_of_the_samples_checks_carry_no_id(name: str) -> None:
    """A check's own gap is for the writer, in words."""
    program = load_base(SAMPLES[name], name)
    ids = {rule.id for rule in (*program.checks, *program.criteria) if "_" in rule.id}

    for row in load_trainset(SAMPLES[name], name).rows[:20]:
        facts = program.facts(row.inputs, row.id)
        for draft in ("hello", "One. Two. Three. Four. Five.", str(row.reference.get("draft", ""))):
            gaps = " ".join(finding.gap for finding in program.judge(facts, draft).findings)
            assert not any(rule in gaps for rule in ids)


@pytest.mark.parametrize("on_fail", ["revise", "resample"])
def test_a_compile_carries_no_canary(on_fail: str, tmp_path: Path) -> None:
    """Demos, pasted rules, loop settings and the gate tell the writers nothing that is secret."""
    program = secretive(tmp_path, f"Loop(max_revisions=1, on_fail={on_fail!r})")
    reply = repairing(leaks(program)["gap_statement"], said(program))
    cast = Cast(reply)

    compile_program(
        "secretive",
        root=tmp_path,
        models=cast.answering(program).models,
        caps=RunCaps(max_calls=4000),
        limits=SearchLimits(sizes=(0, 2), sets_per_size=1, train_rows=6, max_revisions=1),
    )

    assert len(cast.written_to) > 50
    assert not any(heard(request) for request in cast.written_to)


def test_pasted_rules_are_those_of_checks_alone(tmp_path: Path) -> None:
    """The one exception pastes sentences of checks, never an id, a criterion or a measure."""
    pasted = rules_pasted_in(secretive(tmp_path)).program
    assert pasted is not None

    request = pasted.render("draft", {"request": "Lift 7 stops on day 7."})

    assert f"The {RULE_WORD} day is named." in str(request.system)
    assert not heard(request)


def test_only_the_pasted_candidate_names_rules(tmp_path: Path) -> None:
    """Whatever else a compile tries, no rule's sentence is in it."""
    program = secretive(tmp_path, "Loop(max_revisions=1)")
    cast = Cast(lambda request: said(program))

    compile_program(
        "secretive",
        root=tmp_path,
        models=cast.answering(program).models,
        caps=RunCaps(max_calls=4000),
        limits=SearchLimits(sizes=(0, 2), sets_per_size=1, train_rows=6, max_revisions=1),
    )

    naming = [request for request in cast.written_to if RULE_WORD in request_json(request)]
    assert naming
    assert all(f"\nRules:\n- The {RULE_WORD} day" in str(request.system) for request in naming)
