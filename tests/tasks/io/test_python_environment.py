"""What is read from an installed environment."""

import sys
import sysconfig
from pathlib import Path

from tasks.io.python_environment import (
    Distribution,
    distributions,
    help_topics,
    machine_folders,
    required_by,
    standard_library,
)


def _planted(root: Path, files: dict[str, str]) -> Distribution:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return Distribution("x", "1", "", "", "", "", (), root, tuple(sorted(files)))


def test_only_public_modules_are_found_with_the_size_of_their_docstrings(tmp_path: Path) -> None:
    files = {
        "x/__init__.py": '"""1234567890"""',
        "x/part.py": '"""12345"""\ndef f():\n    """1"""\n',
        "x/__main__.py": '"""Runs."""',
        "x/_private.py": '"""Hidden."""',
        "x/tests/test_part.py": '"""Tests."""',
        "x/not-a-name.py": '"""No module."""',
        "x-1.dist-info/licenses/LICENSE": "Permission is hereby granted",
    }
    planted = _planted(tmp_path, files)
    assert planted.modules() == {"x": 10, "x.part": 6}
    assert planted.python_files() == ["x/__init__.py", "x/part.py"]
    assert planted.license_texts() == ["Permission is hereby granted"]


def test_files_that_are_gone_empty_or_not_utf_8_are_no_trouble(tmp_path: Path) -> None:
    planted = _planted(tmp_path, {"x/a.py": "a", "x/empty.py": ""})
    (tmp_path / "x/latin.txt").write_bytes(b"\xe9")
    assert planted.sizes(["x/a.py", "x/empty.py", "x/gone.py"]) == {"x/a.py": 1}
    assert planted.read_text("x/latin.txt") == planted.read_text("x/gone.txt") == ""


def test_instructions_for_coding_agents_are_no_books(tmp_path: Path) -> None:
    planted = _planted(tmp_path, {"x/AGENTS.md": "do", "x/skills/y/guide.md": "do", "x/guide.md": "read"})
    assert planted.text_files() == ["x/guide.md"]


def test_this_environment_has_distributions_sorted_by_normalised_name() -> None:
    names = [item.name for item in distributions()]
    assert names == sorted(set(names))
    assert "pyyaml" in names
    pydantic = next(item for item in distributions() if item.name == "pydantic")
    assert pydantic.license_expression or pydantic.license_field
    assert "pydantic.fields" in pydantic.modules()


def test_the_standard_library_has_its_modules_but_none_that_opens_windows() -> None:
    modules = standard_library().modules()
    assert {"json.decoder", "argparse", "math", "asyncio.tasks"} <= set(modules)
    assert not [
        name for name in modules if name.split(".")[0] in {"antigravity", "this", "idlelib", "turtledemo", "tkinter"}
    ]
    assert not [name for name in modules if "__main__" in name or ".test" in name]


def test_the_folders_of_this_machine_are_known() -> None:
    folders = machine_folders()
    assert {sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib")} <= set(folders)


def test_help_topics_are_there() -> None:
    assert len(help_topics()["compound"]) > 10_000


def test_a_developers_tools_are_not_among_what_a_distribution_requires() -> None:
    assert required_by("no-such-distribution") == set()
    needed = required_by("mlflow")
    assert {"mlflow", "sqlalchemy", "flask"} <= needed
    assert not {"pytest", "ruff", "mypy"} & needed
