"""Models for tests: a script for every role, and the promises any engine must keep."""

from typing import get_args

from redraft.errors import ConfigError
from redraft.lm.cache import ReplyStore
from redraft.lm.engine import Engine
from redraft.lm.model import Model, Models
from redraft.lm.retry import Retry
from redraft.lm.scripted import Script, Scripted
from redraft.records import Role

NO_WAIT = Retry(base_seconds=0.0)
ROLES: tuple[Role, ...] = get_args(Role)


def models_of(
    everyone: Engine | Script | None = None,
    *,
    retry: Retry = NO_WAIT,
    store: ReplyStore | None = None,
    **own: Engine | Script,
) -> Models:
    """Return models made of engines or scripts.

    Args:
        everyone: Engine or script of every role that has none of its own, the judge included.
            A script becomes the model `scripted/test`.
        retry: By default three tries without waiting.
        store: Recorded replies; none by default.
        own: Engine or script of one role, by its name: `drafter=`, `checker=` and so on. A
            script becomes the model `scripted/ROLE`.

    Raises:
        ConfigError: A name is no role.
    """
    if unknown := sorted(set(own) - set(ROLES)):
        raise ConfigError(f"{unknown[0]!r} is no role; the roles are {', '.join(ROLES)}")
    shared = None if everyone is None else _model(everyone, "scripted/test", retry, store)
    made = {role: _model(own[role], f"scripted/{role}", retry, store) for role in own}
    return Models(**{role: made.get(role, shared) for role in ROLES})


def _model(source: Engine | Script, name: str, retry: Retry, store: ReplyStore | None) -> Model:
    engine = source if isinstance(source, Engine) else Scripted(source, name=name)
    return Model(engine, retry=retry, store=store)
