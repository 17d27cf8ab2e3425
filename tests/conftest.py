"""Projects that several test files need."""

import shutil
from pathlib import Path

import pytest
from small_project import make_project, written


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project of one program."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with one artifact, written once."""
    root = make_project(tmp_path_factory.mktemp("template"))
    written(root)
    return root


@pytest.fixture
def shipped(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the project with one artifact."""
    return Path(shutil.copytree(template, tmp_path / "shipped"))
