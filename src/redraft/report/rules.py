"""The rule table of `redraft validate`: who is told a rule, who checks it, what it weighs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from redraft.program import Program
from redraft.records import Check, Criterion, FindingBy
from redraft.rubric import Measure, Rubric

_HEADINGS = ("rule", "told", "checked by", "must pass", "weight", "share", "hidden", "what it says")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One id: its check or criterion, and its measure.

    Attributes:
        id: The id they share.
        told: Whether the drafter learns the rule from its instructions or inputs; False for a
            measure without check or criterion.
        checked_by: Who decides it while answering; None for nobody.
        must_pass: Whether an unmet rule costs a revision; None where nobody checks it.
        scored: Whether it counts in the rubric's value.
        weight: Of its measure, 0 or more; None where there is no measure.
        share: Of the rubric's whole weight, in [0, 1].
        hidden: Whether the search is kept from seeing its measure.
        sentence: What a check or criterion says; empty for a measure alone.
    """

    id: str
    told: bool
    checked_by: FindingBy | None
    must_pass: bool | None
    scored: bool
    weight: float | None
    share: float
    hidden: bool
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTable:
    """All rules of a program and its rubric.

    Attributes:
        program: NAME of the program.
        rules: Checks first, then criteria, then measures that nobody checks.
        overlap: Share of the rubric's weight that the program's checks themselves decide, in
            [0, 1]; the nearer to 1, the less a loop's gain proves.
        warnings: One sentence each.
    """

    program: str
    rules: tuple[Rule, ...]
    overlap: float
    warnings: tuple[str, ...]

    def record(self) -> dict[str, object]:
        """Return the table as JSON values."""
        return {
            "program": self.program,
            "rules": [asdict(rule) for rule in self.rules],
            "overlap": self.overlap,
            "warnings": list(self.warnings),
        }


def make_rule_table(program: Program, rubric: Rubric) -> RuleTable:
    """Join the program's checks and criteria with the measures of the same ids.

    Args:
        program: The program, named.
        rubric: All of its measures, the hidden ones included.
    """
    measures = {measure.id: measure for measure in rubric.measures}
    total = sum(measure.weight for measure in rubric.measures)
    checked: list[Check | Criterion] = [*program.checks, *program.criteria]
    rules = [_checked_rule(rule, measures.get(rule.id), total) for rule in checked]
    known = {rule.id for rule in rules}
    rules += [_measured_rule(m, total) for m in rubric.measures if m.id not in known]
    overlap = sum(rule.share for rule in rules if rule.checked_by == "code")
    return RuleTable(
        program=program.name,
        rules=tuple(rules),
        overlap=overlap,
        warnings=(
            *_warn(rules, program.name),
            *_warn_of_words(program.criteria),
            *_warn_of_overlap(rules),
        ),
    )


def render_rule_table(table: RuleTable) -> str:
    """Return the table as text: one line for each rule, then the overlap and the warnings."""
    lines = [_HEADINGS, *(_cells(rule) for rule in table.rules)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    text = [_aligned(line, widths) for line in lines]
    text += ["", f"overlap: {table.overlap:.0%} of the rubric's weight is decided by checks"]
    text += [f"warning: {warning}" for warning in table.warnings]
    return "\n".join(text) + "\n"


def _checked_rule(rule: Check | Criterion, measure: Measure | None, total: float) -> Rule:
    by_code = isinstance(rule, Check)
    weight = None if measure is None else float(measure.weight)
    return Rule(
        id=rule.id,
        told=rule.told,
        checked_by="code" if by_code else "model",
        must_pass=rule.must_pass,
        scored=bool(weight),
        weight=weight,
        share=(weight or 0.0) / total,
        hidden=measure is not None and measure.hidden,
        sentence=rule.rule if isinstance(rule, Check) else rule.statement,
    )


def _measured_rule(measure: Measure, total: float) -> Rule:
    return Rule(
        id=measure.id,
        told=False,
        checked_by=None,
        must_pass=None,
        scored=measure.weight > 0,
        weight=float(measure.weight),
        share=measure.weight / total,
        hidden=measure.hidden,
        sentence="",
    )


def _warn(rules: Sequence[Rule], program: str) -> Iterator[str]:
    for rule in rules:
        if rule.hidden:
            continue
        if rule.scored and not rule.told:
            yield _untold(rule)
        if rule.checked_by == "model" and rule.weight is None:
            yield (
                f"criterion {rule.id!r} has no measure in metrics/{program}.py, so only people can "
                "say whether the checker is right about it"
            )
        elif rule.checked_by and not rule.scored:
            yield (
                f"{rule.id!r} is checked but not scored: revisions are spent on what the rubric "
                f"does not see; give its measure in metrics/{program}.py a weight"
            )


def _untold(rule: Rule) -> str:
    learns, remedy = "demos", "give it a check or criterion with told=True"
    if rule.checked_by is not None:
        learns, remedy = "demos and gaps", "set told=True"
    return (
        f"{rule.id!r} is scored but told to nobody: the drafter can learn it from {learns} only; "
        f"say it in the instructions and {remedy}, or set hidden=True"
    )


def _warn_of_words(criteria: Sequence[Criterion]) -> Iterator[str]:
    for criterion in criteria:
        if criterion.id.isalpha():
            yield (
                f"criterion {criterion.id!r} is named by one word, which a gap may well hold, and "
                "a finding whose gap names a criterion is thrown away; use a longer id, such as "
                f"'{criterion.id}_enough'"
            )


def _warn_of_overlap(rules: Sequence[Rule]) -> tuple[str, ...]:
    if any(rule.scored and rule.checked_by != "code" for rule in rules):
        return ()
    return (
        "checks decide all that is scored, so a loop that stops on them proves little; add a "
        "measure that no check decides",
    )


def _cells(rule: Rule) -> tuple[str, ...]:
    yes_no: Mapping[bool | None, str] = {True: "yes", False: "no", None: "-"}
    return (
        rule.id,
        yes_no[rule.told],
        rule.checked_by or "nobody",
        yes_no[rule.must_pass],
        "-" if rule.weight is None else f"{rule.weight:g}",
        f"{rule.share:.0%}" if rule.scored else "-",
        yes_no[rule.hidden],
        rule.sentence,
    )


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()
