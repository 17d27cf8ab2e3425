"""An answer as a person reads it."""

import io

from rich.console import Console

from redraft.cli.answer_text import write_answer
from redraft.records import Answer, Attempt, Failure, Finding, Usage, Verdict

FAILURE = Failure("unparsable", "checker", "the checker's reply was no JSON")
VERDICT = Verdict(
    passed=False,
    findings=(
        Finding("dates", "met", "", "", "", "code", must_pass=True),
        Finding("tone", "unmet", "", "", "Say it kindly.", "model", must_pass=False),
        Finding("facts", "cannot_assess", "The text stops.", "", "", "model", must_pass=True),
    ),
    not_asked=("plain_english",),
    draft_digest="0" * 64,
    checker_digest="0" * 64,
    failure=FAILURE,
)
FIRST = Attempt(1, "One.\nTwo.", VERDICT, "", None, Usage(calls=2), 0.1)
SECOND = Attempt(2, "One.\nThree.", None, "@@ -1 +1 @@\n-Two.\n+Three.", 0.5, Usage(calls=1), 0.1)
ANSWER = Answer(
    draft="One.\nTwo.",
    passed=False,
    stopped_by="checker_failed",
    unmet=("facts",),
    attempts=(FIRST, SECOND),
    returned=1,
    best=1,
    usage=Usage(calls=3, input_tokens=10),
    failure=FAILURE,
)

SHOWN = """\
Attempt 1
  One.
  Two.
  not passed
  + dates
  x tone (minor): Say it kindly.
  ? facts: The text stops.
  not asked: plain_english
  the checker's reply was no JSON

Attempt 2
  One.
  Three.
  50% of the text changed
  @@ -1 +1 @@
  -Two.
  +Three.

Ended: checker_failed, 3 calls, 10 tokens, $0.00. The draft of attempt 1 is returned. \
Not met: facts. the checker's reply was no JSON
"""


def test_every_draft_verdict_and_diff_is_shown() -> None:
    """In the order in which they happened, then how it ended."""
    file = io.StringIO()

    write_answer(Console(file=file, soft_wrap=True, highlight=False), ANSWER)

    assert file.getvalue() == SHOWN
