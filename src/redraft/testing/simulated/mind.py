"""The latent model behind a world: what is likely under which prompts, for which rows."""

from dataclasses import dataclass

from redraft.testing.simulated.effects import ALWAYS, NEVER, Prompt, Skill, chance
from redraft.testing.simulated.notes import pick, share
from redraft.testing.simulated.truth import Chances


@dataclass(frozen=True, slots=True)
class Level:
    """How hard some of the rows are.

    Attributes:
        weight: Share of the rows, in (0, 1]; the weights of all levels make 1.
        ease: Added to the log-odds that a word is used.
    """

    weight: float
    ease: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mind:
    """What a simulated model can do.

    Attributes:
        words: That the drafter uses a word, each of the task's for itself.
        form: That a draft has the form of a note.
        finish: That a draft ends before it is cut off.
        judge: That a verdict is right. Where code checks, only its base counts.
        close: That the reviser closes a gap, each for itself.
        breaks: Chance in [0, 1] that the reviser loses a word that was there.
        levels: How hard rows are; a group has one level.
    """

    words: Skill
    form: Skill = ALWAYS
    finish: Skill = ALWAYS
    judge: Skill = ALWAYS
    close: Skill = NEVER
    breaks: float = 0.0
    levels: tuple[Level, ...] = (Level(1.0, 0.0),)

    def log_odds(self, prompt: Prompt, kind: str) -> tuple[float, ...]:
        """Return the log-odds that a prompt decides: finish, form and words; or the only ones."""
        skills = {
            "draft": (self.finish, self.form, self.words),
            "check": (self.judge,),
            "revise": (self.close,),
        }
        return tuple(skill.log_odds(prompt, kind) for skill in skills[prompt.part])

    def level(self, group: str) -> Level:
        """Return how hard the rows of a group are."""
        place = share("level", group)
        return self.levels[pick([level.weight for level in self.levels], place)]

    def chances(
        self,
        kind: str,
        level: Level,
        *,
        draft: Prompt,
        check: Prompt | None = None,
        revise: Prompt | None = None,
    ) -> Chances:
        """Return what can happen to rows of a kind and level under a program's prompts.

        Args:
            kind: Kind of the rows.
            level: How hard they are.
            draft: The drafter's prompt.
            check: The checker's; None where code checks.
            revise: The reviser's; None where there is none.
        """
        finish, form, words = self.log_odds(draft, kind)
        judge = self.judge.base if check is None else self.log_odds(check, kind)[0]
        return Chances(
            finished=chance(finish),
            formed=chance(form),
            word=chance(words + level.ease),
            right=chance(judge),
            closes=0.0 if revise is None else chance(self.log_odds(revise, kind)[0]),
            breaks=self.breaks,
        )
