"""`redraft validate`: program, rubric and rows, checked without a model."""

from collections.abc import Mapping
from dataclasses import dataclass

from redraft.artifact import current
from redraft.cli import flags
from redraft.cli.output import print_record
from redraft.evaluator import Subject, resolve, score_references, with_facts
from redraft.project import find_root
from redraft.report.rules import RuleTable, make_rule_table, render_rule_table

EXAMPLE = "redraft validate product_blurb"


def command(
    name: flags.Name, *, allow_drift: flags.AllowDrift = False, as_json: flags.Json = False
) -> None:
    """Check a program with its rubric and rows, and print the rule table."""
    root = find_root()
    promoted = current(root, name) or "base"
    subject = resolve(name, root=root, artifact=promoted, allow_drift=allow_drift)
    score_references(subject.rubric, with_facts(subject.program, subject.trainset.rows))
    found = Validation(subject, make_rule_table(subject.program, subject.rubric))
    if as_json:
        print_record(found.record())
    else:
        print(found.text())


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found about a program whose parts fit together.

    Attributes:
        subject: Program, rubric and rows.
        table: Its rules.
    """

    subject: Subject
    table: RuleTable

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should look at; none of it is an error."""
        return (*self.table.warnings, *self.subject.trainset.warnings)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Rows by split."""
        return {str(split): count for split, count in self.subject.trainset.sizes().items()}

    def record(self) -> dict[str, object]:
        """Return what `redraft validate --json` prints."""
        return {
            **self.table.record(),
            "rows": dict(self.sizes),
            "gate_is_test": self.subject.trainset.gate_is_test,
            "warnings": list(self.warnings),
        }

    def text(self) -> str:
        """Return the rule table, the sizes of the splits, and the warnings."""
        trainset = self.subject.trainset
        sizes = ", ".join(f"{split} {count}" for split, count in self.sizes.items())
        reread = " (gate and test are the same rows: re-read)" if trainset.gate_is_test else ""
        lines = [
            render_rule_table(self.table),
            f"rows: {len(trainset.rows)}; {sizes}{reread}",
            *(f"warning: {warning}" for warning in trainset.warnings),
        ]
        return "\n".join(lines)
