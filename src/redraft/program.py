"""Drafter, checker, reviser and loop as one `dspy.Module`."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
from dspy.lm15 import Request

from redraft.adapter import render
from redraft.answering import Answering
from redraft.budget import Meter
from redraft.caller import Caller
from redraft.errors import ModelError, ProgramError
from redraft.events import AnswerStarted, Event, Recorder, Watch
from redraft.facts import gather_facts
from redraft.lm.model import Models
from redraft.loop import Checked, Halted
from redraft.project import load_attribute
from redraft.records import (
    Answer,
    Check,
    Criterion,
    Loop,
    Options,
    ProgramState,
    Role,
    Verdict,
)
from redraft.session import AnswerRun, Session, Spec, criteria_text
from redraft.signatures import (
    CRITERIA,
    check_predictor,
    check_prepared,
    check_rules,
    draft_module,
    draft_signature,
    revise_predictor,
)
from redraft.states import example_of, role_of, state_of
from redraft.verdict import digest, make_verdict, run_checks

_UNBOUND = "unbound/unbound"


class Program(dspy.Module):  # type: ignore[misc]  # DSPy has no types
    """A drafter, its checks and criteria, and the loop that ties them together.

    Args:
        draft: Signature, string such as `"request -> notice"`, or module that writes the draft.
        checks: Rules that code decides.
        criteria: Statements that the checker's model decides.
        loop: Settings of the answer-time loop.
        prepare: `prepare(inputs) -> dict`, run once per answer: predictor fields named in
            `prepared` go to the predictors, all other keys are facts that only checks see.
        prepared: Predictor fields that `prepare` supplies.
        files: Files that `prepare` or checks read, relative to `programs/NAME/`.
        check: Signature in place of the default checker's.
        revise: Signature in place of the default reviser's.
        draft_field: The output that is the draft; needed where the drafter has several outputs.
        options: By role: `max_tokens` and temperatures.

    Raises:
        ProgramError: Something above does not fit together; the message says what.
    """

    def __init__(
        self,
        draft: Any,
        *,
        checks: Sequence[Check] = (),
        criteria: Sequence[Criterion] = (),
        loop: Loop | None = None,
        prepare: Callable[[dict[str, Any]], Mapping[str, object]] | None = None,
        prepared: Sequence[str] = (),
        files: Sequence[str] = (),
        check: Any = None,
        revise: Any = None,
        draft_field: str | None = None,
        options: Mapping[Role, Options] | None = None,
    ) -> None:
        super().__init__()
        check_rules(checks, criteria)
        self.draft = draft_module(draft)
        fields, name = draft_signature(self.draft, draft_field)
        check_prepared(prepare, prepared, fields)
        self._spec = Spec(
            inputs=tuple(field for field in fields if field not in prepared),
            draft_inputs=fields,
            draft_field=name,
            checks=tuple(checks),
            criteria=tuple(criteria),
            prepare=prepare,
            prepared=tuple(prepared),
            files=tuple(files),
            sources=(check, revise),
        )
        self._options: dict[Role, Options] = dict(options or {})
        self._models: Models | None = None
        self._artifact_id: str | None = None
        self._recorder: Recorder | None = None
        if criteria or check is not None:
            self.check = check_predictor(check, self.draft, fields, criteria)
        self._set_loop(loop or Loop())

    @property
    def name(self) -> str:
        """The program's name; empty for one made in memory."""
        return self._spec.name

    @property
    def checks(self) -> tuple[Check, ...]:
        """Rules that code decides, in order."""
        return self._spec.checks

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """Statements that the checker's model decides, in order."""
        return self._spec.criteria

    @property
    def loop(self) -> Loop:
        """Settings of the answer-time loop."""
        return self._loop

    @property
    def options(self) -> Mapping[Role, Options]:
        """What each role asks of its model; roles that are not named use the defaults."""
        return self._options

    @property
    def draft_field(self) -> str:
        """The output field that is the draft."""
        return self._spec.draft_field

    @property
    def input_fields(self) -> tuple[str, ...]:
        """Fields that a caller gives."""
        return self._spec.inputs

    @property
    def prepared(self) -> tuple[str, ...]:
        """Predictor fields that `prepare` supplies."""
        return self._spec.prepared

    @property
    def files(self) -> tuple[str, ...]:
        """Files that `prepare` or checks read, relative to `programs/NAME/`."""
        return self._spec.files

    @property
    def models(self) -> Models | None:
        """The models that answer; None until they are named."""
        return self._models

    @property
    def artifact_id(self) -> str | None:
        """The artifact that this program was loaded from; None for the file as it stands."""
        return self._artifact_id

    @property
    def checker_digest(self) -> str:
        """SHA-256 (hex) of checks, criteria and the checker's prompt."""
        rules = [f"{c.id} {c.rule} {c.must_pass}" for c in self.checks]
        rules += [f"{c.id} {c.statement} {c.must_pass}" for c in self.criteria]
        return digest(*rules, repr(state_of(self.check)) if self.criteria else "")

    def named(self, name: str, artifact_id: str | None = None) -> "Program":
        """Return a copy that goes by `name`, and by the artifact it was loaded from."""
        program = self._copy()
        program._spec = replace(self._spec, name=name)
        program._artifact_id = artifact_id
        return program

    def with_models(self, models: Models) -> "Program":
        """Return a copy that is answered by `models`."""
        program = self._copy()
        program._models = models
        return program

    def with_traces(self, recorder: Recorder | None) -> "Program":
        """Return a copy whose answers are recorded, each with its `trace_id`; None for none."""
        program = self._copy()
        program._recorder = recorder
        return program

    def with_loop(self, loop: Loop) -> "Program":
        """Return a copy with other loop settings; the reviser comes and goes with them."""
        program = self._copy()
        program._set_loop(loop)
        return program

    def state(self) -> ProgramState:
        """Return what tuning may change, as plain values."""
        predictors = {name: state_of(predictor) for name, predictor in self.named_predictors()}
        return ProgramState(predictors, self._loop, dict(self._options))

    def with_state(self, state: ProgramState) -> "Program":
        """Return a copy with other instructions, demos, loop settings and options.

        Raises:
            ProgramError: The state names a predictor that the program does not have.
        """
        program = self.with_loop(state.loop)
        program._options = dict(state.options)
        predictors = dict(program.named_predictors())
        unknown = sorted(set(state.predictors) - set(predictors))
        if unknown:
            raise ProgramError(
                f"there is no predictor {unknown[0]!r}; "
                f"the program has {', '.join(predictors)} with these loop settings"
            )
        for name, texts in state.predictors.items():
            predictor = predictors[name]
            predictor.signature = predictor.signature.with_instructions(texts.instructions)
            predictor.demos = [example_of(demo) for demo in texts.demos]
        return program

    def facts(self, inputs: Mapping[str, Any], row_id: str | None = None) -> dict[str, Any]:
        """Return the inputs and everything that `prepare` adds to them.

        Raises:
            InputError: A field is unknown, missing, or of the wrong type.
            PrepareError: `prepare` raised, or lacks a field it should supply.
        """
        annotations = {
            name: info.annotation
            for predictor in self.draft.predictors()
            for name, info in predictor.signature.input_fields.items()
        }
        return gather_facts(self._spec, annotations, inputs, row_id)

    def render(self, predictor: str, fields: Mapping[str, Any]) -> Request:
        """Return the request that a predictor's call would send; no model is needed.

        Args:
            predictor: Its name; see `named_predictors()`.
            fields: Values of its input fields; the criteria are filled in.

        Raises:
            ProgramError: There is no such predictor.
        """
        predictors = dict(self.named_predictors())
        if predictor not in predictors:
            raise ProgramError(
                f"there is no predictor {predictor!r}; the program has {', '.join(predictors)}"
            )
        found = predictors[predictor]
        settings = self._session({}, AnswerRun(seed_key="")).settings(role_of(predictor))
        values = {CRITERIA: criteria_text(self.criteria)} | dict(fields)
        return render(found.signature, found.demos, values, settings, model=_UNBOUND)

    def judge(self, facts: Mapping[str, Any], draft: str, row_id: str | None = None) -> Verdict:
        """Return the verdict of the checks alone; no model is asked.

        Raises:
            CheckError: A check raised.
        """
        findings = run_checks(self.checks, facts, draft, program=self.name, row_id=row_id)
        return make_verdict(findings, draft, self.checker_digest, not_asked=self.criteria)

    def answer(self, **inputs: Any) -> Answer:
        """Draft, check and try again until the check passes or the loop stops."""
        return self.answer_run(inputs, AnswerRun())

    async def aanswer(self, **inputs: Any) -> Answer:
        """Answer like `answer`, awaiting the models."""
        return await self.aanswer_run(inputs, AnswerRun())

    def answer_run(self, inputs: Mapping[str, Any], run: AnswerRun) -> Answer:
        """Answer under given circumstances: seeds, the command's meter, caps.

        Raises:
            InputError: The inputs do not fit the program.
            PrepareError: `prepare` cannot use them.
            ModelError: No model is named for a role, or one cannot be used.
            CheckError: A check raised and `run.strict` is set.
        """
        return self._begin(inputs, run).answer()

    async def aanswer_run(self, inputs: Mapping[str, Any], run: AnswerRun) -> Answer:
        """Answer like `answer_run`, awaiting the models; cancelling it stops every further call."""
        return await self._begin(inputs, run).aanswer()

    def verdict_on(self, inputs: Mapping[str, Any], draft: str, run: AnswerRun) -> Checked | Halted:
        """Judge a draft as the loop would, checks first, without drafting; nothing is recorded.

        Raises as `answer_run` does.
        """
        return self._answering(inputs, run, Watch(run.observe)).judge(draft)

    async def events(self, **inputs: Any) -> AsyncIterator[Event]:
        """Answer, yielding what happens as it happens; `AnswerStopped` comes last.

        Leaving the iterator early cancels the answer. Errors are those of `answer_run`.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        run = AnswerRun(observe=queue.put_nowait)
        task = asyncio.create_task(self.aanswer_run(inputs, run))
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Answer, as DSPy calls a module: the draft under its field's name, and the answer."""
        return self._prediction(self.answer(**inputs))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Answer like `forward`, awaiting the models."""
        return self._prediction(await self.aanswer(**inputs))

    def _prediction(self, answer: Answer) -> dspy.Prediction:
        return dspy.Prediction(**{self.draft_field: answer.draft, "answer": answer})

    def _copy(self) -> "Program":
        program: Program = copy.deepcopy(self)
        return program

    def _set_loop(self, loop: Loop) -> None:
        self._loop = loop
        rules = self.checks or self.criteria
        revises = loop.enabled and loop.on_fail == "revise" and loop.max_revisions > 0 and rules
        if not revises:
            self.__dict__.pop("revise", None)
        elif "revise" not in self.__dict__:
            source = self._spec.sources[1]
            fields = self._spec.draft_inputs
            self.revise = revise_predictor(source, self.draft, fields, self.draft_field)

    def _session(self, facts: Mapping[str, Any], run: AnswerRun) -> Session:
        return Session(self._spec, self._loop, self._options, facts, self.checker_digest, run)

    def _begin(self, inputs: Mapping[str, Any], run: AnswerRun) -> Answering:
        recording = run.recording
        if recording is None and self._recorder is not None:
            recording = self._recorder.begin()
        watch = Watch(run.observe, recording=recording, recorded=run.recorded)
        answering = self._answering(inputs, run, watch)
        if watch.is_watched:
            watch.tell(
                AnswerStarted(
                    program=self.name,
                    artifact_id=self._artifact_id,
                    inputs=inputs,
                    seed=run.seed,
                    models=self._bound().names(),
                    checker_digest=answering.session.checker_digest,
                    state=self.state(),
                )
            )
        return answering

    def _answering(self, inputs: Mapping[str, Any], run: AnswerRun, watch: Watch) -> Answering:
        facts = self.facts(inputs, run.row_id) if run.facts is None else run.facts
        session = self._session(facts, run)
        meter = Meter(run.caps, parent=run.meter, scope="answer")
        caller = Caller(self, self._bound(), watch)
        return Answering(session, caller, meter, watch, self._artifact_id)

    def _bound(self) -> Models:
        if self._models is None:
            raise ModelError(
                "no model is named; pass models=, use --lm, or set lm in [tool.redraft]", model=""
            )
        return self._models


def load_base(root: Path, name: str) -> Program:
    """Return a copy of `programs/NAME.py`'s PROGRAM, which is never changed itself.

    Raises:
        ProjectError: There is no such program, or its file does not load.
        ProgramError: Its PROGRAM does not fit together.
    """
    program = load_attribute(root, "programs", name=name, attribute="PROGRAM", kind=Program)
    return program.named(name)
