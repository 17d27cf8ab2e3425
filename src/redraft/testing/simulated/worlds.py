"""Nine worlds, each with something of its own that an optimizer must find, or must not."""

from redraft.errors import ConfigError
from redraft.records import Loop
from redraft.testing.simulated.effects import CHANCE, Cue, Skill
from redraft.testing.simulated.mind import Level, Mind
from redraft.testing.simulated.world import World

_SPREAD = (Level(0.25, -1.2), Level(0.5, 0.0), Level(0.25, 1.2))

_NEUTRAL = (
    "Think step by step.",
    "Take your time.",
    "You are an expert.",
    "Your reader is busy.",
)

NULL = World(
    name="null",
    finds=(
        "Nothing: no instructions, demos or settings of the loop change the expected score, and "
        "the check is no better than a coin."
    ),
    mind=Mind(words=Skill(base=0.8), form=Skill(base=1.5), judge=CHANCE, levels=_SPREAD),
    sentences=_NEUTRAL,
)

DEMOS = World(
    name="demos",
    finds=(
        "The right demos: each task is worth something of its own as a demo, some do harm, and so "
        "does every demo whose reference lacks a word, as a third of them do."
    ),
    mind=Mind(
        words=Skill(base=0.2, demo_least=-0.15, demo_most=0.75, demo_bad=-0.4, demos_most=1.8),
        form=Skill(base=2.5),
        judge=CHANCE,
        levels=_SPREAD,
    ),
    sentences=_NEUTRAL,
    sloppy=0.33,
)

INSTRUCTIONS = World(
    name="instructions",
    finds=(
        "The words that help, in a short prompt: the check's rule holds one of them, some "
        "sentences do harm, and every token past sixty costs, so long demos cost as well."
    ),
    mind=Mind(
        words=Skill(
            base=0.0,
            cues=(
                Cue("each word", 0.9),
                Cue("in the given order", 0.7),
                Cue("read it again", 0.4),
                Cue("be creative", -0.8),
                Cue("in your own words", -0.6),
            ),
            free_tokens=60,
            per_token=0.012,
        ),
        form=Skill(base=2.0),
        judge=CHANCE,
        levels=_SPREAD,
    ),
    sentences=(
        "Use each word that is asked for.",
        "Name them in the given order.",
        "Read it again before you answer.",
        "Be creative.",
        "Say it in your own words.",
        *_NEUTRAL,
        "Our house has written notes for a hundred years, on paper of every colour, and it would "
        "like each of its readers to feel at home with what they hold in their hands.",
    ),
)

INTERACTION = World(
    name="interaction",
    finds=(
        "Instructions and demos together: demos help only if the instructions say to follow the "
        "examples, and saying so without demos does harm."
    ),
    mind=Mind(
        words=Skill(
            base=0.4,
            cues=(Cue("follow the examples", -0.4),),
            demo_least=0.3,
            demo_most=0.7,
            demos_most=2.2,
            needs="follow the examples",
        ),
        form=Skill(base=2.5),
        judge=CHANCE,
        levels=_SPREAD,
    ),
    rule="Follow the examples, where there are any.",
    sentences=("Follow the examples.", *_NEUTRAL),
)

FORMAT = World(
    name="format",
    finds=(
        "The form: the words come easily, but a third of the replies run on until they are cut "
        "off and many others do not start as a note; any demo, or one sentence, mends it."
    ),
    mind=Mind(
        words=Skill(base=2.5),
        form=Skill(
            base=0.0,
            cues=(Cue("start with", 1.2),),
            demo_least=0.8,
            demo_most=0.8,
            demo_bad=0.8,
            demos_most=3.0,
        ),
        finish=Skill(
            base=0.7,
            cues=(Cue("one line", 1.5),),
            demo_least=0.6,
            demo_most=0.6,
            demo_bad=0.6,
            demos_most=3.0,
        ),
        judge=CHANCE,
    ),
    rule=f"Start with {'Note:'!r}, and end after one line.",
    sentences=("Start with 'Note:'.", "Write one line.", *_NEUTRAL),
)

RESAMPLE = World(
    name="resample",
    finds=(
        "A loop that draws again: the check never errs, drafts of one row differ a lot, no prompt "
        "makes them better, and the reviser changes nothing."
    ),
    mind=Mind(words=Skill(base=1.0), form=Skill(base=2.0)),
    loop=Loop(max_revisions=1),
    sentences=_NEUTRAL,
)

CHECKER = World(
    name="checker",
    finds=(
        "A checker that can be trusted: revising closes gaps and sometimes loses a word, so the "
        "loop is worth little until demos of verdicts or one sentence make the checker right more "
        "often."
    ),
    mind=Mind(
        words=Skill(base=0.9),
        form=Skill(base=2.0),
        judge=Skill(
            base=0.1,
            cues=(Cue("count the words", 1.0),),
            demo_least=0.4,
            demo_most=0.4,
            demo_bad=-0.6,
            demos_most=3.0,
        ),
        close=Skill(base=0.4, demo_least=0.3, demo_most=0.3, demos_most=1.5),
        breaks=0.2,
    ),
    loop=Loop(max_revisions=1),
    checked_by="model",
    sentences=("Count the words that are missing.", *_NEUTRAL),
)

CEILING = World(
    name="ceiling",
    finds=(
        "A gain in few rows: nine rows in ten are right under any prompt and tie, and demos help "
        "the others."
    ),
    mind=Mind(
        words=Skill(base=-0.6, demo_least=0.3, demo_most=0.6, demos_most=2.5),
        judge=CHANCE,
        levels=(Level(0.9, 12.0), Level(0.1, 0.0)),
    ),
    sentences=_NEUTRAL,
)

CLUSTERED = World(
    name="clustered",
    finds=(
        "Demos of every kind, with an honest count of the evidence: a demo helps tasks of its own "
        "kind alone, and the six rows of a group are all easy or all hard."
    ),
    mind=Mind(
        words=Skill(
            base=0.4, demo_least=0.4, demo_most=0.8, demo_bad=-0.4, demos_most=1.8, transfer=0.0
        ),
        form=Skill(base=2.5),
        judge=CHANCE,
        levels=(Level(0.4, -2.0), Level(0.6, 1.5)),
    ),
    sentences=_NEUTRAL,
    group_size=6,
)

WORLDS: tuple[World, ...] = (
    NULL,
    DEMOS,
    INSTRUCTIONS,
    INTERACTION,
    FORMAT,
    RESAMPLE,
    CHECKER,
    CEILING,
    CLUSTERED,
)


def world_named(name: str) -> World:
    """Return the world of a name.

    Raises:
        ConfigError: There is none.
    """
    known = {world.name: world for world in WORLDS}
    if name not in known:
        raise ConfigError(f"there is no world {name!r}; there are {', '.join(known)}")
    return known[name]
