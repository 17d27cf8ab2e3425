"""`redraft prompt`: the requests of a program, exactly as they would be sent."""

import json
from collections.abc import Mapping

from dspy.lm15 import Request

from redraft.cli import flags
from redraft.cli.inputs import Inputs, read_inputs
from redraft.cli.opening import open_program
from redraft.cli.output import print_record
from redraft.lm.wire import message_text, request_json, system_text
from redraft.program import Program
from redraft.project import find_root

EXAMPLE = "redraft prompt product_blurb --artifact base"


def command(
    name: flags.Name,
    *,
    given: Inputs = None,
    artifact: flags.Artifact = None,
    allow_drift: flags.AllowDrift = False,
    as_json: flags.Json = False,
) -> None:
    """Print what would be sent for each predictor; values that are not known yet stand in <>."""
    root = find_root()
    inputs = read_inputs(given)
    program = open_program(root, name, artifact=artifact, allow_drift=allow_drift)
    requests = render_all(program, program.facts(inputs) if inputs else {})
    if as_json:
        print_record({key: json.loads(request_json(request)) for key, request in requests.items()})
        return
    print("\n\n".join(request_text(key, request) for key, request in requests.items()))


def render_all(program: Program, facts: Mapping[str, object]) -> dict[str, Request]:
    """Return the request of each predictor, by name.

    Args:
        program: The program.
        facts: Values of input fields; the others are shown as `<field>`.
    """
    requests: dict[str, Request] = {}
    for name, predictor in program.named_predictors():
        # The program fills the criteria in by itself.
        fields = [field for field in predictor.signature.input_fields if field != "criteria"]
        values = {field: facts.get(field, f"<{field}>") for field in fields}
        requests[name] = program.render(name, values)
    return requests


def request_text(name: str, request: Request) -> str:
    """Return one request as its turns, each under its role."""
    turns = [("system", system_text(request))] if request.system else []
    turns += [(message.role, message_text(message)) for message in request.messages]
    blocks = [f"=== {name}", *(f"[{role}]\n{text}" for role, text in turns)]
    return "\n".join((*blocks, f"[settings]\n{_settings(request)}"))


def _settings(request: Request) -> str:
    config = json.loads(request_json(request))["config"]
    lines = (f"{key} = {json.dumps(value)}" for key, value in sorted(config.items()))
    return "\n".join(lines)
