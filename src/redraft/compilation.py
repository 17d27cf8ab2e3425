"""How a compile ended: what was found, measured, decided and spent."""

from dataclasses import asdict, dataclass
from typing import Literal

from redraft.evaluator import Evaluation
from redraft.looks import Look
from redraft.records import Usage
from redraft.statistics import Effect, GateVerdict

Promote = Literal["confirmed", "likely", "always", "never"]
PROMOTE: tuple[Promote, ...] = ("confirmed", "likely", "always", "never")

Ending = Literal["unchanged", "not_compared", "no_lead", "no_calls", "gate", "gate_cut_short"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """What a compile found, and what became of it.

    Attributes:
        program: Its name.
        optimizer: The method.
        seed: Seed of the compile.
        ending: Where it ended: `unchanged` (nothing but the opponent was found), `not_compared` (a
            cap ended the work before `val` was compared), `no_lead` (the lower bound of the gain
            on `val` is not above 0), `no_calls` (the calls left do not pay for the gate's look),
            `gate` (the gate decided), `gate_cut_short` (a cap ended the gate's look).
        verdict: What the gate says; `not_confirmed` where it did not look.
        opponent: `base`, or the id of the artifact in `CURRENT`.
        artifact_id: The artifact that was written; None where nothing but the opponent was found.
        promoted: Whether `CURRENT` names it now.
        before: The opponent as it is served, on the rows that `effect` is about.
        after: What was found, on the same rows.
        effect: Paired gain on the gate, else on `val`, where choosing flatters it; None where
            nothing was compared.
        smallest_detectable: Gain that those rows would show in four of five repetitions.
        look: The look at the gate; None where there was none.
        usage: Over all stages.
        seconds: Wall time.
        notes: What else a person should know, one sentence each.
        resumed: Whether an earlier search was taken up again.
    """

    program: str
    optimizer: str
    seed: int
    ending: Ending
    verdict: GateVerdict
    opponent: str
    artifact_id: str | None = None
    promoted: bool = False
    before: Evaluation | None = None
    after: Evaluation | None = None
    effect: Effect | None = None
    smallest_detectable: float | None = None
    look: Look | None = None
    usage: Usage
    seconds: float
    notes: tuple[str, ...] = ()
    resumed: bool = False

    @property
    def exit_code(self) -> int:
        """0 where a gain was confirmed, else 3, whatever was promoted."""
        return 0 if self.verdict == "confirmed" else 3

    def record(self) -> dict[str, object]:
        """Return what `redraft compile --json` prints; the gain's `p` is one-sided."""
        return {
            "program": self.program,
            "optimizer": self.optimizer,
            "artifact_id": self.artifact_id,
            "promoted": self.promoted,
            "verdict": self.verdict,
            "opponent": self.opponent,
            "base": _figures(self.before),
            "compiled": _figures(self.after),
            "gain": _gain(self.effect),
            "smallest_detectable": self.smallest_detectable,
            "look": None if self.look is None else _look(self.look),
            "usage": asdict(self.usage),
            "resumed": self.resumed,
            "ending": self.ending,
            "notes": list(self.notes),
        }


def _figures(evaluation: Evaluation | None) -> dict[str, object] | None:
    if evaluation is None:
        return None
    record = evaluation.record()
    names = ("split", "n", "mean", "low", "high", "pass_rate", "revisions_mean", "cap_hit_rate")
    return {name: record[name] for name in names}


def _gain(effect: Effect | None) -> dict[str, object] | None:
    if effect is None:
        return None
    return {
        "estimate": effect.estimate,
        "low": effect.low,
        "high": effect.high,
        "p": effect.p_greater,
    }


def _look(look: Look) -> dict[str, object]:
    return {"number": look.number, "level": look.level}
