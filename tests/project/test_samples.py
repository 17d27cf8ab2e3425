"""The sample programs: what they read, what their rubrics say, and the rows they learn from."""

import importlib.util
import json
from collections import Counter
from itertools import combinations
from types import ModuleType

import pytest
from samples import NAMES, ROOT, measured, program, rows, rubric, runs

from redraft.errors import PrepareError
from redraft.trainset import load_trainset

KETTLE = (
    "Describe a kettle in one sentence. Use these words: steel, quiet, compact, cordless. "
    "Under 40 words."
)
# Half of the runs of three words in common is a copy with some names changed.
ALIKE = 0.5


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


@pytest.mark.parametrize(
    "request_text",
    [
        "Describe a kettle.",
        "Describe a kettle. Under 40 words.",
        "Describe a kettle. Use these words: steel.",
        "Use these words: steel. Under 40 words.",
        "",
    ],
)
def test_a_blurb_request_that_cannot_be_read_is_refused(request_text: str) -> None:
    """The error quotes the request and shows the form that is expected, which is understood."""
    with pytest.raises(PrepareError, match="cannot read the request") as caught:
        program("product_blurb").facts({"request": request_text})

    form = str(caught.value).split("write it like this: ")[1]
    assert program("product_blurb").facts({"request": form})


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


@pytest.mark.parametrize("name", NAMES)
def test_each_rubric_has_a_measure_that_no_check_decides(name: str) -> None:
    """What is checked alone does not make the score; one measure is kept from the search."""
    checked = {check.id for check in program(name).checks}
    measures = rubric(name).measures

    assert checked < {measure.id for measure in measures}
    assert any(m.id not in checked and m.weight > 0 and not m.hidden for m in measures)
    assert any(measure.hidden for measure in measures)
