"""The sample programs: what they read, what their rubrics say, and the rows they learn from."""

import importlib.util
import json
import re
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

from redraft.errors import PrepareError
from redraft.program import Program, load_base
from redraft.records import Row, Score
from redraft.rubric import Rubric, load_rubric
from redraft.trainset import load_trainset

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("product_blurb", "tenant_notice")

KETTLE = (
    "Describe a kettle in one sentence. Use these words: steel, quiet, compact, cordless. "
    "Under 40 words."
)
LIFT = (
    "Write a notice to tenants: the lift is out of service from 3 March to 7 March because the "
    "cables are being replaced. They can use the goods lift instead. Under 60 words, no sentence "
    "over 20 words."
)
# Half of the runs of three words in common is a copy with some names changed.
ALIKE = 0.5


@cache
def program(name: str) -> Program:
    """Return a sample program, loaded once."""
    return load_base(ROOT, name)


@cache
def rubric(name: str) -> Rubric:
    """Return a sample rubric, loaded once."""
    return load_rubric(ROOT, name)


@cache
def rows(name: str) -> tuple[Row, ...]:
    """Return the rows of a sample, read once."""
    return load_trainset(ROOT, name, input_fields=("request",)).rows


def measured(name: str, request: str, draft: str) -> Score:
    """Return the score of a draft."""
    return rubric(name).score(Row("r", program(name).facts({"request": request})), draft)


def runs(text: str) -> set[tuple[str, ...]]:
    """Return all runs of three words."""
    tokens = re.findall(r"\w+", text.casefold())
    return {tuple(tokens[i : i + 3]) for i in range(len(tokens) - 2)}


def generator(name: str) -> ModuleType:
    """Return the script that writes the rows."""
    path = ROOT / "trainsets" / name / "generate.py"
    spec = importlib.util.spec_from_file_location(f"generate_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_what_the_generator_writes(name: str) -> None:
    """The same material gives the same bytes."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in generator(name).rows()]

    written = (ROOT / "trainsets" / name / "rows.jsonl").read_bytes()
    assert written == "".join(lines).encode()


@pytest.mark.parametrize("name", NAMES)
def test_there_are_rows_and_groups_enough(name: str) -> None:
    """300 rows, 100 groups of at most four, and 20 groups in each of the reported splits."""
    trainset = load_trainset(ROOT, name)

    sizes = Counter(row.group for row in trainset.rows)
    assert len(trainset.rows) >= 300
    assert len(sizes) >= 100
    assert max(sizes.values()) <= 4
    assert not trainset.gate_is_test
    assert trainset.warnings == ()
    assert all(len({row.group for row in trainset.split(s)}) >= 20 for s in ("gate", "test"))


@pytest.mark.parametrize("name", NAMES)
def test_the_card_counts_the_rows(name: str) -> None:
    """What the card says of number, kinds and licence is true."""
    card = load_trainset(ROOT, name).card

    counted = card["rows"]
    assert isinstance(counted, dict)
    assert counted["count"] == len(rows(name))
    assert card["licence"] == "MIT"
    kinds = card["tags"]
    assert isinstance(kinds, dict)
    assert set(kinds) == {row.tags[0] for row in rows(name)}


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_draft_answers_its_request(name: str) -> None:
    """It passes every check, and scores 1 but where it adds little or lists much."""
    for row in rows(name):
        draft = str(row.reference["draft"])
        verdict = program(name).judge(program(name).facts(row.inputs), draft)
        score = measured(name, str(row.inputs["request"]), draft)

        assert verdict.passed, (row.id, verdict.blocking)
        assert score.passed, (row.id, score)
        assert score.value >= 0.9, (row.id, score.feedback)


@pytest.mark.parametrize("name", NAMES)
def test_no_row_is_another_with_a_name_changed(name: str) -> None:
    """Across groups, reference drafts share less than half of their runs of three words."""
    drafts = [(row, runs(str(row.reference["draft"]))) for row in rows(name)]

    alike = [
        (a.id, b.id)
        for (a, x), (b, y) in combinations(drafts, 2)
        if a.group != b.group and len(x & y) >= ALIKE * len(x | y)
    ]
    assert alike == []


@pytest.mark.parametrize("name", NAMES)
def test_requests_are_all_different(name: str) -> None:
    """No request is asked twice."""
    requests = [str(row.inputs["request"]) for row in rows(name)]

    assert len(set(requests)) == len(requests)


def test_the_blurb_form_is_understood() -> None:
    """Thing, words, number of sentences and limit are read."""
    assert program("product_blurb").facts({"request": KETTLE}) == {
        "request": KETTLE,
        "thing": ["kettle"],
        "words": ["steel", "quiet", "compact", "cordless"],
        "limit": 39,
        "sentences": 1,
        "unsaid": [],
        "closing": None,
    }


@pytest.mark.parametrize("number", [1, 2, 12, 30])
@pytest.mark.parametrize("limit", [1, 9, 400])
def test_the_blurb_form_takes_any_number_of_words_and_any_limit(number: int, limit: int) -> None:
    """Both stand in the request."""
    given = [f"word{i}" for i in range(number)]
    request = (
        f"Describe a desk lamp in one sentence. Use these words: {', '.join(given)}. "
        f"Under {limit} words."
    )

    facts = program("product_blurb").facts({"request": request})

    assert (facts["words"], facts["limit"], facts["thing"]) == (given, limit - 1, ["desk lamp"])


def test_a_blurb_request_may_be_worded_otherwise() -> None:
    """The order and the words of the form may vary; what is not asked for is None or empty."""
    request = (
        'Introduce the hand cream, using the words "rich" and soft. At most 20 words. '
        'Do not use the words: skin, clean. End with "Hold hands."'
    )

    facts = program("product_blurb").facts({"request": request})

    assert facts == {
        "request": request,
        "thing": ["hand cream"],
        "words": ["rich", "soft"],
        "limit": 20,
        "sentences": None,
        "unsaid": ["skin", "clean"],
        "closing": "Hold hands.",
    }


def test_the_notice_form_is_understood() -> None:
    """Outage, both dates, alternative and limits are read."""
    facts = program("tenant_notice").facts({"request": LIFT})

    dates = facts.pop("dates")
    assert isinstance(dates, list)
    assert [forms[0] for forms in dates] == ["3 March", "7 March"]
    assert facts == {
        "request": LIFT,
        "outage": "lift",
        "alternative": ["goods lift"],
        "note": "",
        "limit": 59,
        "longest": 20,
    }


@pytest.mark.parametrize(
    "date", ["3 March", "3rd March", "March 3", "March 3rd", "the 3rd of March", "Monday, 3 march"]
)
def test_a_date_may_be_written_in_several_ways(date: str) -> None:
    """A date is stated whatever its usual form."""
    notice = f"The lift stops from {date} until 7 March. Use the goods lift."

    assert measured("tenant_notice", LIFT, notice).measures["states_dates"] == 1


@pytest.mark.parametrize(
    ("name", "request_text"),
    [
        ("product_blurb", "Describe a kettle."),
        ("product_blurb", "Describe a kettle. Under 40 words."),
        ("product_blurb", "Describe a kettle. Use these words: steel."),
        ("product_blurb", "Use these words: steel. Under 40 words."),
        ("product_blurb", ""),
        ("tenant_notice", "Tell tenants about the lift."),
        ("tenant_notice", LIFT.replace("3 March", "Monday")),
        ("tenant_notice", LIFT.replace("They can use the goods lift instead.", "")),
        ("tenant_notice", LIFT.replace("Under 60 words", "Be brief")),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(name: str, request_text: str) -> None:
    """The error quotes the request and shows the form that is expected, which is understood."""
    with pytest.raises(PrepareError, match="cannot read the request") as caught:
        program(name).facts({"request": request_text})

    form = str(caught.value).split("write it like this: ")[1]
    assert program(name).facts({"request": form})


@pytest.mark.parametrize(
    ("draft", "unmet"),
    [
        ("A quiet, compact and cordless kettle of steel that friends admire.", set()),
        ("A kettle of steel that friends admire.", {"uses_words"}),
        (
            "Steel, quiet, compact, cordless kettle.",
            {"adds_something", "not_recited"},
        ),
        (
            "A quiet steel kettle is compact, a quiet steel kettle is cordless, nice and neat.",
            {"no_repetition"},
        ),
        (
            "A quiet compact object. Friends like cordless steel in their rooms.",
            {"exact_sentences", "names_the_thing"},
        ),
    ],
)
def test_a_blurb_loses_what_it_fails(draft: str, unmet: set[str]) -> None:
    """Each measure falls below 1 for its own reason only."""
    score = measured("product_blurb", KETTLE, draft)

    assert {id_ for id_, value in score.measures.items() if value < 1} == unmet


@pytest.mark.parametrize(
    ("draft", "unmet"),
    [
        ("The lift is out of service from 3 March to 7 March. Use the goods lift.", set()),
        ("The lift is out of service from 3 March. Use the goods lift.", {"states_dates"}),
        ("The lift stops from 3 March to 7 March. Use the stairs.", {"states_alternative"}),
        (
            "Sorry! The lift stops from 3 March to 7 March. Use the goods lift. We regret this.",
            {"one_apology"},
        ),
        (
            "It stops from 3 March to 7 March at 9. Use the goods one. [Your name]",
            {"states_alternative", "names_outage", "invents_nothing"},
        ),
        (
            "Name both dates: 3 March, 7 March. Use the goods lift.",
            {"only_the_notice"},
        ),
        (
            "The lift will commence rest from 3 March to 7 March. Utilise the goods lift.",
            {"plain_english"},
        ),
    ],
)
def test_a_notice_loses_what_it_fails(draft: str, unmet: set[str]) -> None:
    """Each measure falls below 1 for its own reason only."""
    score = measured("tenant_notice", LIFT, draft)

    assert {id_ for id_, value in score.measures.items() if value < 1} == unmet


def test_a_note_must_be_passed_on() -> None:
    """The share of its words that the notice has is measured, and by no check."""
    request = LIFT.replace("Under", 'Also say: "Stairs remain open." Under')
    notice = "The lift is out of service from 3 March to 7 March. Use the goods lift."

    without = measured("tenant_notice", request, notice)
    passed_on = measured("tenant_notice", request, f"{notice} Stairs remain open.")

    assert without.passed is passed_on.passed is True
    assert (without.measures["passes_on_note"], passed_on.measures["passes_on_note"]) == (0, 1)


@pytest.mark.parametrize("name", NAMES)
def test_each_rubric_has_a_measure_that_no_check_decides(name: str) -> None:
    """What is checked alone does not make the score; one measure is kept from the search."""
    checked = {check.id for check in program(name).checks}
    measures = rubric(name).measures

    assert checked < {measure.id for measure in measures}
    assert any(m.id not in checked and m.weight > 0 and not m.hidden for m in measures)
    assert any(measure.hidden for measure in measures)
