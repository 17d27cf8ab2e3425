"""Optimizers by the names that `--optimizer` takes."""

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from redraft.errors import ConfigError
from redraft.optimizers.base import Optimizer
from redraft.optimizers.bootstrap import Bootstrap
from redraft.optimizers.identity import Identity

OPTIMIZERS: Mapping[str, Optimizer] = MappingProxyType(
    {optimizer.name: optimizer for optimizer in (Bootstrap(), Identity())}
)


def optimizer_named(name: str) -> Optimizer:
    """Return an optimizer.

    Raises:
        ConfigError: There is none of this name.
    """
    if name in OPTIMIZERS:
        return OPTIMIZERS[name]
    near = get_close_matches(name, OPTIMIZERS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(OPTIMIZERS)}"
    raise ConfigError(f"there is no optimizer {name!r}; {hint}")
