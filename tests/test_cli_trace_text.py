"""The picture of a loop that `redraft traces show` draws."""

from dataclasses import replace

from redraft.adapter import Reply
from redraft.cli.trace_text import summaries_text, trace_text
from redraft.loop import difference
from redraft.records import (
    Answer,
    Attempt,
    Failure,
    Finding,
    FindingStatus,
    Loop,
    Usage,
    Verdict,
)
from redraft.traces import Recheck, Start, StoredCall, Trace, TraceSummary

ONE = "The lift is out.\nWe are sorry."
TWO = "The lift is out on Monday."


def finding(
    rule: str, status: FindingStatus, *, gap: str = "", quote: str = "", must_pass: bool = True
) -> Finding:
    return Finding(rule, status, "", quote, gap, by="model", must_pass=must_pass)


def verdict(*findings: Finding, failure: Failure | None = None, passed: bool = False) -> Verdict:
    return Verdict(passed, findings, (), "d", "c", failure=failure)


def attempt(number: int, draft: str, made: Verdict | None, before: str = "") -> Attempt:
    diff, share = difference(before, draft) if before else ("", None)
    usage = Usage(calls=2, input_tokens=40, output_tokens=10)
    return Attempt(number, draft, made, diff, share, usage, 1.25)


FIRST = attempt(
    1,
    ONE,
    replace(
        verdict(
            finding("dated", "unmet", gap="Say when.", quote="is out"),
            finding("kind", "met"),
            finding("short", "cannot_assess", quote="nowhere", must_pass=False),
        ),
        not_asked=("true",),
    ),
)
SECOND = replace(
    attempt(
        2, TWO, verdict(finding("dated", "met"), finding("kind", "unmet", gap="Be kind.")), ONE
    ),
    gaps=("Say when.",),
)
THIRD = attempt(
    3, TWO, verdict(failure=Failure("outage", "checker", "The model is out of service.")), TWO
)

TRACE = Trace(
    id="ab12cd34ef56",
    program="notice",
    artifact_id="0123456789ab",
    started="2026-11-30T20:15:00.000+00:00",
    ended=None,
    resumed=2,
    redacted=False,
    start=Start(
        inputs={"request": "lift"},
        seed=7,
        models={"drafter": "scripted/a"},
        checker_digest="c",
        prompts={},
        options="o",
        loop=Loop(),
    ),
    attempts=(FIRST, SECOND, THIRD, attempt(4, "Gone.", None, TWO)),
    calls=(
        StoredCall(
            sequence=1,
            attempt=1,
            predictor="draft",
            role="drafter",
            model="scripted/a",
            digest="d",
            started="2026-11-30T20:15:00.000+00:00",
            outcome=Reply({"notice": ONE}, ONE),
            usage=Usage(calls=1, input_tokens=20),
            seconds=0.5,
        ),
        StoredCall(
            sequence=2,
            attempt=1,
            predictor="check",
            role="checker",
            model="scripted/a",
            digest="d",
            started="2026-11-30T20:15:01.000+00:00",
        ),
    ),
    answer=None,
    rechecks=(
        Recheck(
            number=1,
            judged="2026-12-01T08:00:00.000+00:00",
            artifact_id=None,
            checker="scripted/b",
            verdict=verdict(finding("dated", "met"), finding("kind", "met"), passed=True),
            usage=Usage(),
        ),
    ),
)

SHOWN = """\
notice ab12cd34ef56, artifact 0123456789ab
began 2026-11-30 20:15:00 UTC, seed 7
resumed 2 times
drafter: scripted/a
checker: none
request = lift

Attempt 1  (2 calls, 50 tokens, $0.00, 1.2 s)
  | The lift [is out](1).
  | We are sorry.
  x dated (1): Say when.
  + kind
  ? short (minor)
      "nowhere"
  not asked: true
  not passed
  judged again 2026-12-01 08:00:00 UTC by scripted/b, base: passed; differs on dated met

Attempt 2  (2 calls, 50 tokens, $0.00, 1.2 s)
  told: Say when.
  54% of the text changed:
  ~ The lift is out{+ on Monday+}.[-
  ~ We are sorry.-]
  | The lift is out on Monday.
  + dated
  x kind: Be kind.
  broke kind, met in attempt 1
  not passed

Attempt 3  (2 calls, 50 tokens, $0.00, 1.2 s)
  the same draft again
  The model is out of service.
  not passed

Attempt 4  (2 calls, 50 tokens, $0.00, 1.2 s)
  100% of the text changed:
  ~ [-The lift is out on Monday-]{+Gone+}.
  | Gone.
  not judged

Not finished: 2 calls, 20 tokens, price unknown; call 2 (check) in flight, counted as spent. \
Go on with: redraft run notice --resume ab12cd34ef56"""


def test_a_trace_as_a_person_reads_it() -> None:
    """Drafts with quotes marked, changes, findings, what broke, later verdicts, what is lost."""
    assert trace_text(TRACE, plain=True).plain == SHOWN


def test_a_finished_trace_says_why_it_stopped() -> None:
    """With what it spent, which draft is returned, and what is not met."""
    answer = Answer(
        draft=TWO,
        passed=False,
        stopped_by="max_revisions",
        unmet=("kind",),
        attempts=(FIRST, SECOND),
        returned=2,
        best=2,
        usage=Usage(calls=4),
    )

    text = trace_text(replace(TRACE, answer=answer, redacted=True, resumed=0), plain=True).plain

    assert "texts are redacted" in text
    assert text.endswith(
        "Ended: max_revisions, 4 calls, 0 tokens, $0.00. The draft of attempt 2 is returned. "
        "Not met: kind."
    )


def test_the_list_says_what_never_ended() -> None:
    """One line a trace, whatever became of it."""
    summary = TraceSummary(
        id="ab12cd34ef56",
        program="notice",
        artifact_id=None,
        started="2026-11-30T20:15:00.000+00:00",
        stopped_by=None,
        passed=None,
        attempts=1,
        calls=2,
    )

    assert summaries_text([summary]).splitlines() == [
        "ID            BEGAN                    PROGRAM  ARTIFACT  ENDED         ATTEMPTS  CALLS",
        "ab12cd34ef56  2026-11-30 20:15:00 UTC  notice   base      not finished  1         2",
    ]
