"""Which model each role uses, from flags and from the project's settings."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Literal, get_args

from redraft.errors import ModelError
from redraft.records import Role

ROLES: tuple[Role, ...] = get_args(Role)

# Where Claude is asked through its own SDK.
ANTHROPIC = ("anthropic", "anthropic-bedrock", "anthropic-vertex")

DEFAULT_LOCAL = "local/smollm2-135m"

NAME_FORMS = (
    (DEFAULT_LOCAL, "the embedded model; runs here, needs no account"),
    ("local/PATH.gguf", "a model file of your own, run here"),
    ("scripted/FILE", "replies from a .json, .jsonl or .py file of the project"),
    ("anthropic/MODEL", "a Claude model; needs ANTHROPIC_API_KEY"),
    ("anthropic-bedrock/MODEL", "a Claude model on Amazon Bedrock"),
    ("anthropic-vertex/MODEL", "a Claude model on Google Vertex AI"),
    ("PROVIDER/MODEL", "any other name that DSPy knows, such as openai/... or ollama_chat/..."),
)


def model_names(
    config: Mapping[str, str], flags: Mapping[Role | Literal["lm"], str | None]
) -> dict[Role, str]:
    """Return the model of each role.

    The most specific flag wins, then `--lm`, then the role's setting, then the setting `lm`.
    Neither `--lm` nor `lm` names the judge, since a judge must be chosen with care; the
    reviser's model is the drafter's unless it is named itself.

    Args:
        config: Settings under `[tool.redraft]`: `lm`, `checker_lm` and so on; others are ignored.
        flags: What the command line named: `lm`, `checker` and so on; None for "not given".

    Raises:
        ModelError: Nothing names the drafter's model, a name is no name, or a role no role.
    """
    check_roles(flags, (*ROLES, "lm"))
    names: dict[Role, str] = {}
    for role in ROLES:
        own = (flags.get(role), config.get(f"{role}_lm"))
        general = (flags.get("lm"), config.get("lm")) if role != "judge" else (None, None)
        name = own[0] or general[0] or own[1] or general[1]
        if name:
            names[role] = check_model_name(name)
    if "drafter" not in names:
        raise ModelError(f"no model is named; {how_to_name()}", model="")
    if not flags.get("reviser") and not config.get("reviser_lm"):
        names["reviser"] = names["drafter"]
    return names


def check_roles(given: Iterable[str], known: Iterable[str] = ROLES) -> None:
    """Raise ModelError where something that was given a model is no role."""
    roles = tuple(known)
    for role in given:
        if role not in roles:
            near = get_close_matches(role, roles, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(roles)}"
            raise ModelError(f"no role {role!r}; {hint}", model="")


def check_model_name(name: str) -> str:
    """Return a name that has the form `provider/model`.

    Raises:
        ModelError: It has not.
    """
    provider, slash, model = name.partition("/")
    if not slash or not provider.strip() or not model.strip() or name != name.strip():
        raise ModelError(
            f"{name!r} is no name of a model, which is written provider/model; {how_to_name()}",
            model=name,
        )
    return name


def how_to_name() -> str:
    """Return the ways to name a model, one a line."""
    forms = "\n".join(f"  {form:<22} {meaning}" for form, meaning in NAME_FORMS)
    return (
        'give --lm NAME, or lm = "NAME" under [tool.redraft] in pyproject.toml, '
        f"where NAME is one of\n{forms}"
    )
