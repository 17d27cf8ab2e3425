"""Models for tests: a script for every role, and the promises any engine must keep."""

from redraft.lm.cache import ReplyStore
from redraft.lm.engine import Engine
from redraft.lm.model import Model, Models
from redraft.lm.retry import Retry
from redraft.lm.scripted import Script, Scripted

NO_WAIT = Retry(base_seconds=0.0)


def models_of(
    everyone: Engine | Script | None = None,
    *,
    drafter: Engine | Script | None = None,
    checker: Engine | Script | None = None,
    reviser: Engine | Script | None = None,
    proposer: Engine | Script | None = None,
    judge: Engine | Script | None = None,
    retry: Retry = NO_WAIT,
    store: ReplyStore | None = None,
) -> Models:
    """Return models made of engines or scripts.

    Args:
        everyone: Engine or script of every role that has none of its own, the judge included.
        drafter: The drafter's own, and so on for the other roles. A script becomes
            `scripted/ROLE`, one for everyone `scripted/test`.
        retry: By default three tries without waiting.
        store: Recorded replies; none by default.
    """
    shared = None if everyone is None else _model(everyone, "scripted/test", retry, store)
    own = {
        "drafter": drafter,
        "checker": checker,
        "reviser": reviser,
        "proposer": proposer,
        "judge": judge,
    }
    made = {
        role: _model(script, f"scripted/{role}", retry, store)
        for role, script in own.items()
        if script is not None
    }
    return Models(**{role: made.get(role, shared) for role in own})


def _model(source: Engine | Script, name: str, retry: Retry, store: ReplyStore | None) -> Model:
    engine = source if isinstance(source, Engine) else Scripted(source, name=name)
    return Model(engine, retry=retry, store=store)
