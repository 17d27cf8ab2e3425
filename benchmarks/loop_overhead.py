"""Measure what the loop costs per model call, beside a bare `dspy.Predict` on the same model.

    python benchmarks/loop_overhead.py --answers 200

answers over a scripted model that takes no time, in one run and in turns, so that a busy machine
slows all of them down alike: a bare predictor, the loop (draft, model check, one revision, model
check), and the loop with every answer stored. It prints the processor time per model call, the
ratios, and what it costs to store a call with everything that belongs to it.
"""

import argparse
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dspy
from dspy.lm15 import Request

from redraft.budget import Meter
from redraft.lm import Models
from redraft.lm.wire import last_user_text, system_text
from redraft.program import Program
from redraft.records import Criterion, Loop
from redraft.testing import Scripted, models_of
from redraft.traces import TraceStore

REQUEST = "Tell the tenants that the lift is out of order on Monday. " * 4
CALLS = 4
GOAL = 1.3


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to make model calls.

    Attributes:
        name: What it is called in the table.
        run: Makes `calls` model calls.
        calls: How many.
    """

    name: str
    run: Callable[[], object]
    calls: int


def reply(request: Request) -> str:
    """Draft; judge the first draft as unmet and the second as met; revise; or fill in fields."""
    system, text = system_text(request), last_user_text(request)
    if "[[ ## notice ## ]]" in system:
        return "[[ ## notice ## ]]\nFirst notice.\n\n[[ ## completed ## ]]"
    if "complete:" not in system:
        return "Second notice." if "First notice." in text else "First notice."
    met = "Second notice." in text
    finding = {
        "reason": "",
        "status": "met" if met else "unmet",
        "quote": "",
        "gap": "" if met else "Say when the lift works again.",
    }
    return json.dumps({"findings": {"complete": finding}})


def contenders(folder: Path) -> list[Contender]:
    """Return the bare predictor, the loop, and the loop with its answers stored."""
    models = models_of(Scripted(reply))
    loop = Program(
        "request -> notice",
        criteria=[Criterion("complete", "The notice says when the lift works again.")],
        loop=Loop(max_revisions=1),
    ).with_models(models)
    stored = loop.with_traces(TraceStore(folder / "traces.sqlite"))
    return [
        Contender("bare dspy.Predict", bare(models), CALLS),
        Contender("loop", lambda: loop.answer(request=REQUEST), CALLS),
        Contender("loop, stored", lambda: stored.answer(request=REQUEST), CALLS),
    ]


def bare(models: Models) -> Callable[[], object]:
    """Return a function that makes as many calls with a bare predictor as an answer makes."""
    predictor = dspy.Predict("request -> notice")
    adapter = dspy.ChatAdapter()
    lm = models.of("drafter").lm(Meter())

    def run() -> None:
        with dspy.context(lm=lm, adapter=adapter, disable_history=True):
            for _ in range(CALLS):
                predictor(request=REQUEST)

    return run


def microseconds(contender: Contender) -> float:
    """Return the processor time per model call of one run; waiting for others is not in it."""
    began = time.process_time()
    contender.run()
    return (time.process_time() - began) / contender.calls * 1e6


def measure(found: list[Contender], answers: int) -> dict[str, list[float]]:
    """Return the times per call of each contender, which take turns."""
    for contender in found:
        contender.run()  # What is built on first use is not part of a call.
    times: dict[str, list[float]] = {contender.name: [] for contender in found}
    gc.disable()
    for _ in range(answers):
        for contender in found:
            times[contender.name].append(microseconds(contender))
    gc.enable()
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=200, help="runs of each (default 200)")
    answers = parser.parse_args().answers
    with tempfile.TemporaryDirectory() as folder:
        times = measure(contenders(Path(folder)), answers)
    middle = {name: statistics.median(values) for name, values in times.items()}
    first = next(iter(middle.values()))
    print(f"{'':20} {'us per call':>12} {'ratio':>7}")
    for name, value in middle.items():
        print(f"{name:20} {value:12.0f} {value / first:7.2f}")
    print(f"goal for the loop without traces: at most {GOAL}")
    row = middle["loop, stored"] - middle["loop"]
    print(f"storing costs {row:.0f} us per model call")


if __name__ == "__main__":
    main()
