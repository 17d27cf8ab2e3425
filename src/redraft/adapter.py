"""Predictor and inputs to request: plain turns or structured output; and the call itself."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_origin

import dspy
import pydantic
from dspy.clients.base_lm import BaseLM
from dspy.lm15 import Config, Message, Reasoning, Request, Response
from dspy.signatures.signature import Signature
from dspy.utils import exceptions as lm_errors

from redraft.errors import ProgramError
from redraft.records import Effort, Role
from redraft.replies import Reply, parsed_fields, translated, usable_text
from redraft.verdict import fence

_OUTPUT_FORM = "Reply with one JSON object that has these fields, in this order:"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """How one predictor is called once.

    Attributes:
        role: Whose call it is.
        max_tokens: Tokens the reply may have.
        temperature: In [0, 2]; sent only to models that take one.
        seed: Sent only to models that take one.
        effort: How hard the model thinks; sent only to models that take it; None for its default.
        system_fields: Input fields that belong to the stable start of the request.
        fenced: Input field that is data to be judged; None for no fence.
        fence_key: Digest of the checker, which goes into the fence.
        schema: JSON schema of single outputs, in place of the one made from their types.
        raw: The output field that is handed on as the reply's own text; None for parsed fields.
        repair: What a second turn says about the first reply; None for a first turn.
        first_reply: The reply that is to be repaired.
    """

    role: Role
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    effort: Effort | None = None
    system_fields: tuple[str, ...] = ()
    fenced: str | None = None
    fence_key: str = ""
    schema: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    raw: str | None = None
    repair: str | None = None
    first_reply: str = ""


def render(
    signature: type[Signature],
    demos: Sequence[Mapping[str, Any]],
    inputs: Mapping[str, Any],
    settings: CallSettings,
    *,
    model: str,
) -> Request:
    """Return the request that is sent: instructions, demos and task, the stable parts first.

    Args:
        signature: The predictor's signature with its tuned instructions.
        demos: Worked examples; each must hold every output field.
        inputs: Values of the signature's input fields.
        settings: How the predictor is called.
        model: The model's name.

    Raises:
        ProgramError: A demo lacks an output field.
    """
    plain = _is_plain(signature, settings.role)
    messages: list[Message] = []
    for number, demo in enumerate(demos, start=1):
        messages.append(Message.user(_task(signature, demo, settings)))
        messages.append(Message.assistant(_demo_reply(signature, demo, number, plain=plain)))
    messages += _closing_turns(_task(signature, inputs, settings), settings)
    config = Config(
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        seed=settings.seed,
        response_format=None if plain else _response_format(signature, settings),
    )
    system = _system(signature, inputs, settings, plain=plain)
    return Request(model=model, messages=tuple(messages), system=system or None, config=config)


class TurnAdapter(dspy.Adapter):  # type: ignore[misc]  # DSPy has no types
    """Renders one predictor's call, makes it, and raises `CallError` for an unusable reply.

    One adapter serves one call of the program; it keeps the reply of the last predictor.
    """

    def __init__(self, settings: CallSettings) -> None:
        super().__init__()
        self.settings = settings
        self.reply: Reply | None = None

    def __call__(
        self,
        lm: BaseLM,
        lm_kwargs: dict[str, Any],  # noqa: ARG002 - DSPy's call passes it; settings replace it
        signature: type[Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        request = self._request(lm, signature, demos, inputs)
        try:
            response = lm(request)
        except lm_errors.DSPyError as error:
            raise translated(error, self.settings.role) from error
        return self._accept(signature, response)

    async def acall(
        self,
        lm: BaseLM,
        lm_kwargs: dict[str, Any],  # noqa: ARG002 - DSPy's call passes it; settings replace it
        signature: type[Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        request = self._request(lm, signature, demos, inputs)
        try:
            response = await lm.acall(request)
        except lm_errors.DSPyError as error:
            raise translated(error, self.settings.role) from error
        return self._accept(signature, response)

    def _request(
        self,
        lm: BaseLM,
        signature: type[Signature],
        demos: Sequence[Mapping[str, Any]],
        inputs: Mapping[str, Any],
    ) -> Request:
        request = render(signature, demos, inputs, self.settings, model=lm.model)
        if self.settings.effort is not None and "reasoning" in lm.supported_params:
            # Not part of what `render` shows: it is no text, and only some models take it.
            config = replace(request.config, reasoning=Reasoning(effort=self.settings.effort))
            request = replace(request, config=config)
        return fitted(request, lm.supported_params, schema=lm.supports_response_schema)

    def _accept(self, signature: type[Signature], response: Response) -> list[dict[str, Any]]:
        text = usable_text(response, self.settings.role, max_tokens=self.settings.max_tokens)
        if _is_plain(signature, self.settings.role):
            fields: dict[str, Any] = {next(iter(signature.output_fields)): text}
        elif self.settings.raw is not None:
            fields = dict.fromkeys(signature.output_fields, "") | {self.settings.raw: text}
        else:
            fields = parsed_fields(signature, text, self.settings.role)
        self.reply = Reply(fields, text)
        return [fields]


def fitted(request: Request, supported: set[str], *, schema: bool) -> Request:
    """Return the request without the options that this model does not take."""
    taken = supported | {"response_format"} if schema else supported - {"response_format"}
    options = ("temperature", "seed", "response_format")
    given = [name for name in options if getattr(request.config, name) is not None]
    dropped = {name: None for name in given if name not in taken}
    if not dropped:
        return request
    return replace(request, config=replace(request.config, **dropped))


def is_text_field(annotation: Any) -> bool:
    """Tell whether a field can be written as text: no image, audio, file or tool."""
    if isinstance(annotation, type) and not get_origin(annotation):
        return not issubclass(annotation, dspy.Type)
    return all(is_text_field(part) for part in getattr(annotation, "__args__", ()))


def as_text(value: object) -> str:
    """Return a field's value as the model reads it: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    plain = value.model_dump(mode="json") if isinstance(value, pydantic.BaseModel) else value
    return json.dumps(plain, ensure_ascii=False, default=str)


def labelled(values: Mapping[str, object]) -> str:
    """Return values as text, each under its field's name."""
    blocks = (f"{name.replace('_', ' ').capitalize()}:\n{as_text(v)}" for name, v in values.items())
    return "\n\n".join(blocks)


def _is_plain(signature: type[Signature], role: Role) -> bool:
    outputs = list(signature.output_fields.values())
    return role in ("drafter", "reviser") and len(outputs) == 1 and outputs[0].annotation is str


def _task(signature: type[Signature], values: Mapping[str, Any], settings: CallSettings) -> str:
    names = [n for n in signature.input_fields if n not in settings.system_fields]
    present = {name: values[name] for name in names if name in values}
    if settings.fenced is not None and settings.fenced in present:
        return _fenced_task(present, settings)
    if len(names) == 1 and present:
        return as_text(present[names[0]])
    return labelled(present)


def _fenced_task(present: Mapping[str, Any], settings: CallSettings) -> str:
    data = as_text(present[settings.fenced or ""])
    task = labelled({name: v for name, v in present.items() if name != settings.fenced})
    mark = fence(data, task, settings.fence_key)
    name = settings.fenced
    return f"<task {mark}>\n{task}\n</task {mark}>\n\n<{name} {mark}>\n{data}\n</{name} {mark}>"


def _system(
    signature: type[Signature],
    inputs: Mapping[str, Any],
    settings: CallSettings,
    *,
    plain: bool,
) -> str:
    parts = [signature.instructions.strip()]
    stable = {name: inputs[name] for name in settings.system_fields if name in inputs}
    if stable:
        parts.append(labelled(stable))
    if not plain:
        parts.append(_output_form(signature, settings))
    return "\n\n".join(part for part in parts if part)


def _output_form(signature: type[Signature], settings: CallSettings) -> str:
    lines = [_OUTPUT_FORM]
    for name, info in signature.output_fields.items():
        schema = json.dumps(_field_schema(name, info, settings), ensure_ascii=False)
        described = (info.json_schema_extra or {}).get("desc", "")
        note = "" if described in ("", f"${{{name}}}") else f" {described}"
        lines.append(f"- {name}:{note} (JSON schema: {schema})")
    return "\n".join(lines)


def _response_format(signature: type[Signature], settings: CallSettings) -> dict[str, Any]:
    outputs = signature.output_fields
    fields: dict[str, dict[str, Any]] = {
        name: dict(_field_schema(name, info, settings)) for name, info in outputs.items()
    }
    definitions: dict[str, Any] = {}
    for schema in fields.values():
        # References are resolved from the top of the whole schema.
        definitions |= schema.pop("$defs", {})
    whole = {
        "type": "object",
        "properties": fields,
        "required": list(outputs),
        "additionalProperties": False,
    }
    if definitions:
        whole["$defs"] = definitions
    return {"type": "json_schema", "name": "reply", "strict": True, "schema": whole}


def _field_schema(name: str, info: Any, settings: CallSettings) -> Mapping[str, object]:
    if name in settings.schema:
        return settings.schema[name]
    return dict(pydantic.TypeAdapter(info.annotation).json_schema())


def _demo_reply(
    signature: type[Signature], demo: Mapping[str, Any], number: int, *, plain: bool
) -> str:
    missing = [name for name in signature.output_fields if name not in demo]
    if missing:
        raise ProgramError(
            f"demo {number} lacks the output field {missing[0]!r}; "
            f"a demo gives every output of its predictor: {', '.join(signature.output_fields)}"
        )
    if plain:
        return as_text(demo[next(iter(signature.output_fields))])
    outputs = {name: demo[name] for name in signature.output_fields}
    return json.dumps(outputs, ensure_ascii=False, default=as_text)


def _closing_turns(task: str, settings: CallSettings) -> list[Message]:
    if settings.repair is None:
        return [Message.user(task)]
    if not settings.first_reply:
        return [Message.user(f"{task}\n\n{settings.repair}")]
    return [
        Message.user(task),
        Message.assistant(settings.first_reply),
        Message.user(settings.repair),
    ]
