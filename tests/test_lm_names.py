"""Which model each role uses."""

from pathlib import Path

import pytest

from redraft.errors import ModelError
from redraft.lm import connect, model_names
from redraft.lm.names import check_model_name


def test_the_setting_names_every_role_but_the_judge() -> None:
    """A judge must be chosen, so no general setting names one."""
    names = model_names({"lm": "a/b"}, {})

    assert names == dict.fromkeys(("drafter", "checker", "reviser", "proposer"), "a/b")


def test_the_general_flag_beats_every_setting() -> None:
    """`--lm` means this model now, whatever the project says."""
    names = model_names({"lm": "a/b", "checker_lm": "c/d"}, {"lm": "e/f"})

    assert (names["drafter"], names["checker"]) == ("e/f", "e/f")


def test_the_flag_of_a_role_beats_the_general_one() -> None:
    """The most specific wish wins."""
    names = model_names({"checker_lm": "c/d"}, {"lm": "e/f", "checker": "g/h"})

    assert (names["drafter"], names["checker"]) == ("e/f", "g/h")


def test_the_reviser_follows_the_drafter() -> None:
    """Naming the drafter names the reviser too."""
    names = model_names({"lm": "a/b", "drafter_lm": "c/d"}, {})

    assert names["reviser"] == "c/d"


def test_the_reviser_can_be_named() -> None:
    """Its own setting comes first."""
    assert model_names({"lm": "a/b", "reviser_lm": "c/d"}, {})["reviser"] == "c/d"


def test_the_judge_is_named_by_itself() -> None:
    """By its own setting or flag."""
    assert model_names({"lm": "a/b"}, {"judge": "c/d"})["judge"] == "c/d"


def test_no_name_at_all_lists_the_ways_to_give_one() -> None:
    """Flag, setting and the embedded model stand in the message."""
    with pytest.raises(ModelError, match=r"(?s)--lm NAME.*\[tool\.redraft\].*local/smollm2-135m"):
        model_names({}, {"lm": None})


@pytest.mark.parametrize("wrong", ["gpt", "/x", "x/", " a/b", "a/ "])
def test_a_name_has_a_provider_and_a_model(wrong: str) -> None:
    """Anything else is refused before it is used."""
    with pytest.raises(ModelError, match="written provider/model"):
        check_model_name(wrong)


def test_a_role_that_does_not_exist_is_refused() -> None:
    """A model that nobody would ask is a slip, and the role that was meant is named."""
    with pytest.raises(ModelError, match="no role 'draft'; did you mean 'drafter'"):
        model_names({"lm": "a/b"}, {"draft": "c/d"})  # type: ignore[dict-item]


def test_connecting_a_role_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """Likewise where models are connected by hand."""
    with pytest.raises(ModelError, match="no role 'author'; there are drafter"):
        connect({"author": "scripted/replies.json"}, root=tmp_path)  # type: ignore[dict-item]
