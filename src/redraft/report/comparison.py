"""A comparison in words and tables that a sceptic accepts: what was found, and what was not."""

from redraft.comparison import AlternativeResult, Cell, Comparison, Gain
from redraft.report.sections import (
    WIDTH,
    Section,
    markdown,
    number,
    percent,
    plain_text,
    signed,
)

# Below this there is hardly anything left to win.
HEADROOM = 0.02
HOLM_LEVEL = 0.05


def comparison_text(comparison: Comparison, *, width: int = WIDTH) -> str:
    """Return a comparison as plain text for a terminal of `width` columns."""
    return plain_text(_sections(comparison), width=width)


def comparison_markdown(comparison: Comparison) -> str:
    """Return a comparison as Markdown."""
    return markdown(_sections(comparison))


def claim(gain: Gain) -> str:
    """Return what may be said of a gain: `a gain`, `a loss`, or why neither."""
    effect = gain.effect
    if effect.low is None:
        groups = "1 group" if effect.differing == 1 else f"{effect.differing} groups"
        return f"no gain found: too few rows differ ({groups})"
    if effect.covers_zero:
        return "no gain found"
    if gain.p_holm is not None and gain.p_holm >= HOLM_LEVEL:
        return "no gain found once corrected for the number of alternatives"
    return "a gain" if effect.estimate > 0 else "a loss"


def _sections(comparison: Comparison) -> list[Section]:
    return [
        _what(comparison),
        _slipped(comparison),
        _halves(comparison),
        _alternatives(comparison),
        _limits(comparison),
    ]


def _what(comparison: Comparison) -> Section:
    name = comparison.program or "the program"
    artifact = f"artifact {comparison.artifact_id}" if comparison.artifact_id else "compiled"
    cells = comparison.cells
    table = (
        ("score", "loop off", "loop on", "calls an answer", "pass rate"),
        _row("base", cells["base_off"], cells["base_on"]),
        _row("compiled", cells["compiled_off"], cells["compiled_on"]),
    )
    shipped = cells["as_shipped"]
    items = [
        f"As shipped: {_mean(shipped)}, {shipped.calls_per_answer:.1f} calls an answer"
        f"{_dollars(shipped)}, {percent(shipped.pass_rate)} pass the rubric.",
        "Brackets are 95 % intervals. Loop off is the first attempt of the run with the loop on.",
        *comparison.notes,
    ]
    if comparison.not_measured:
        dropped = f"{comparison.not_measured} rows were not measured in every cell and are dropped"
        items.append(f"{dropped} from all: {'; '.join(comparison.reasons)}")
    if comparison.checker_outages:
        items.append(
            f"{comparison.checker_outages} answers, over all runs, went unchecked, since the "
            "checker's model did not answer. They are scored as they are, so what the loop is "
            f"worth stays open: {'; '.join(comparison.reasons)}"
        )
    groups = comparison.gains.total.effect.groups
    title = f"{name}: {artifact} and base on {comparison.n} rows of {comparison.split}"
    return Section(f"{title} ({groups} groups)", table, tuple(items))


def _slipped(comparison: Comparison) -> Section:
    items = []
    for name in ("compiled_on", "base_on"):
        found, who = comparison.escaped[name], name.removesuffix("_on").capitalize()
        if found.share is None or found.upper is None:
            items.append(f"{who}, loop on: no answer passed the check, so none could slip through.")
            continue
        items.append(
            f"{who}, loop on: {found.escaped} of the {found.passed} answers that passed the check "
            f"fail the rubric all the same: {percent(found.share)}, and at most "
            f"{percent(found.upper)} (95 % bound, rows taken as independent)."
        )
    return Section("What slips through", items=tuple(items))


def _halves(comparison: Comparison) -> Section:
    gains = comparison.gains
    items = [
        _sentence("Compiling", gains.build_time),
        _sentence("Looping", gains.answer_time),
        _sentence("Both together", gains.total),
        _interaction(gains.interaction),
    ]
    feedback = comparison.feedback
    if feedback.gain is not None:
        items.append(_sentence("Feedback, beyond drawing again", feedback.gain))
    elif feedback.words is not None:
        items.append(feedback.words)
    passes = gains.passes
    items.append(
        f"Rows that pass the rubric: {percent(passes.before)} before, {percent(passes.after)} "
        f"with both (exact McNemar p = {passes.p:.3g}, rows taken as independent)."
    )
    items.append(_unchecked(comparison))
    return Section("What each half was worth", items=tuple(items))


def _sentence(what: str, gain: Gain) -> str:
    parts = [f"{what}: {_difference(gain)}, {claim(gain)}"]
    if gain.missing is not None and gain.missing < HEADROOM:
        parts.append("no headroom: hardly anything was missing before")
    elif claim(gain) == "a gain" and gain.share_of_error_removed is not None:
        parts.append(f"{percent(gain.share_of_error_removed)} of what was missing")
    return f"{'; '.join(parts)}. {_detectable(gain)}"


def _interaction(gain: Gain) -> str:
    effect = gain.effect
    if effect.covers_zero:
        words = "no sign that looping is worth more or less once compiled"
    elif effect.estimate > 0:
        words = "looping is worth more once compiled"
    else:
        words = "looping is worth less once compiled, since the two partly win the same rows"
    return f"Interaction: {_difference(gain)}, {words}."


def _unchecked(comparison: Comparison) -> str:
    if comparison.unchecked is None:
        return (
            "Every measure of the rubric is a rule that the program checks itself, so this shows "
            "nothing about what the loop does not stop on."
        )
    cells, total = comparison.cells, comparison.unchecked.total
    before, after = cells["base_off"].unchecked_mean, cells["compiled_on"].unchecked_mean
    return (
        f"On measures that no check or criterion decides: {number(before)} before, "
        f"{number(after)} with both; {_difference(total)}, {claim(total)}."
    )


def _alternatives(comparison: Comparison) -> Section:
    heading = ("alternative", "loop off", "loop on", "calls an answer", "compiled against it")
    table: list[tuple[str, ...]] = [heading]
    items = ["All have the same loop; the last column is compiled minus alternative, loop on."]
    for found in comparison.alternatives:
        if found.measured is None:
            items.append(f"{found.title}: left out, {found.left_out}.")
        else:
            table.append(_alternative_row(found, found.measured.off, found.measured.on))
    items.append(
        "A gain is claimed where the interval is above 0 and p, corrected for the number of "
        f"alternatives (Holm), is below {HOLM_LEVEL}."
    )
    return Section("What else would do", tuple(table), tuple(items))


def _alternative_row(found: AlternativeResult, off: Cell, on: Cell) -> tuple[str, ...]:
    assert found.measured is not None
    gain = found.measured.gain
    against = f"{_difference(gain)}, {claim(gain)}"
    return (found.title, number(off.mean), number(on.mean), f"{on.calls_per_answer:.1f}", against)


def _limits(comparison: Comparison) -> Section:
    reread = comparison.reread
    items = [
        "It shows nothing about other models, or about rows unlike these.",
        "No gain found does not mean none: smaller gains than these rows would show may well be "
        "missed.",
        "The intervals allow for one row, unseen, that loses or wins everything; rarer or larger "
        "accidents they cannot see.",
    ]
    if reread.gate_is_test:
        items.append(
            "Re-read: these rows are also the gate's, so an artifact that was promoted on them "
            f"looks better here than on fresh rows. {_compiles(reread.compiles)}"
        )
    elif reread.compiles:
        items.append(_compiles(reread.compiles))
    if reread.replies:
        items.append(
            f"{reread.replies} of {comparison.usage.calls} calls were answered from recorded "
            "replies."
        )
    return Section("What this does not show", items=tuple(items))


def _compiles(count: int) -> str:
    many = f"{count} compiles have" if count else "No compile has"
    return f"{'1 compile has' if count == 1 else many} looked at them since they changed."


def _row(name: str, off: Cell, on: Cell) -> tuple[str, ...]:
    calls = f"{off.calls_per_answer:.1f} / {on.calls_per_answer:.1f}"
    passes = f"{number(off.pass_rate)} / {number(on.pass_rate)}"
    return (name, _mean(off), _mean(on), calls, passes)


def _mean(cell: Cell) -> str:
    if cell.low is None or cell.high is None:
        return f"{number(cell.mean)} (too few rows for an interval)"
    return f"{number(cell.mean)} [{number(cell.low)}, {number(cell.high)}]"


def _difference(gain: Gain) -> str:
    effect = gain.effect
    if effect.low is None or effect.high is None:
        return signed(effect.estimate)
    return f"{signed(effect.estimate)} [{signed(effect.low)}, {signed(effect.high)}]"


def _detectable(gain: Gain) -> str:
    if gain.smallest_detectable is None:
        return f"No gain would show on these {gain.effect.n} rows."
    return f"These {gain.effect.n} rows would show gains from {gain.smallest_detectable:.2f} up."


def _dollars(cell: Cell) -> str:
    if cell.cost_usd is None:
        return " at an unknown price"
    return "" if cell.cost_usd == 0 else f", ${cell.cost_usd:.4f} in all"
