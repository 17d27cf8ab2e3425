"""How a compile ended, in words, with what to do next."""

from redraft.compilation import Compilation
from redraft.evaluator import Evaluation

_VERDICTS = {
    "confirmed": "The gain is confirmed.",
    "likely": "The gain is likely, but not confirmed.",
    "not_confirmed": "No gain was confirmed.",
    "worse": "What was found is worse than the opponent.",
}


def compilation_text(compilation: Compilation) -> str:
    """Return a compile as a few lines: decision, numbers, spend, next step."""
    lines = [outcome_text(compilation), _spend(compilation), _next_step(compilation)]
    return "\n".join(lines)


def outcome_text(compilation: Compilation) -> str:
    """Return decision and numbers: what stays the same when recorded replies are used again."""
    lines = [
        f"{compilation.program}: {_decision(compilation)}",
        *_numbers(compilation),
        *_look(compilation),
        *compilation.notes,
    ]
    return "\n".join(lines)


def _decision(compilation: Compilation) -> str:
    match compilation.ending:
        case "unchanged":
            return "nothing better than the opponent was found, so nothing was written."
        case "not_compared":
            return "a cap ended the work before the candidate was compared; the gate did not look."
        case "no_lead":
            return (
                "the candidate's lead on val could be chance, so the gate did not look. "
                "No gain was found, which is a normal outcome."
            )
        case "no_calls":
            return "the calls left do not pay for the gate's look, so it did not look."
        case "gate_cut_short":
            return "a cap ended the gate's look, so nothing is confirmed."
        case "gate":
            return _VERDICTS[compilation.verdict]


def _numbers(compilation: Compilation) -> list[str]:
    before, after, effect = compilation.before, compilation.after, compilation.effect
    if before is None or after is None or effect is None:
        return []
    ends = "no interval" if effect.low is None else f"95 % {effect.low:+.3f} to {effect.high:+.3f}"
    chosen = " (val was chosen on, which flatters it)" if before.split == "val" else ""
    lines = [
        f"opponent {compilation.opponent}: {_figures(before)}",
        f"compiled {compilation.artifact_id}: {_figures(after)}",
        f"gain on {effect.n} {before.split} rows in {effect.groups} groups: "
        f"{effect.estimate:+.3f} ({ends}){chosen}",
    ]
    if compilation.smallest_detectable is not None:
        lines.append(f"smallest gain these rows would show: {compilation.smallest_detectable:.3f}")
    return lines


def _figures(evaluation: Evaluation) -> str:
    return f"mean score {evaluation.mean:.3f}, {evaluation.pass_rate:.0%} pass the rubric"


def _look(compilation: Compilation) -> list[str]:
    look, effect = compilation.look, compilation.effect
    if look is None or look.level is None:
        return []
    p = None if effect is None else effect.p_greater
    return [f"look {look.number} at the gate: {_chance(p)}, level {look.level:.4f}"]


def _chance(p: float | None) -> str:
    if p is None:
        return "too few rows differ for a p"
    return "one-sided p below 0.0001" if p < 0.0001 else f"one-sided p {p:.4f}"


def _spend(compilation: Compilation) -> str:
    usage = compilation.usage
    cost = "unknown cost" if usage.cost_usd is None else f"${usage.cost_usd:.2f}"
    reread = f", {usage.reread} of them recorded replies" if usage.reread else ""
    return f"{usage.calls} calls{reread}, {compilation.seconds:.0f} s, {cost}"


def _next_step(compilation: Compilation) -> str:
    name, found = compilation.program, compilation.artifact_id
    if compilation.promoted:
        return f"{found} answers now; see what it says in compiled/{name}/{found}/PROMPTS.md"
    if found is None:
        return f"Next: add rows to trainsets/{name}, or try again with another --seed."
    if compilation.ending in ("not_compared", "no_calls", "gate_cut_short"):
        return f"Next: redraft compile {name} with a larger --max-calls or --max-seconds."
    return (
        f"Not promoted. Next: read compiled/{name}/{found}/PROMPTS.md, add rows or try another "
        f"--seed; redraft artifacts {name} promote {found} promotes it all the same."
    )
