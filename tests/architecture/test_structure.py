"""The shape of the code: names that are ours alone, sizes that a reader can take in, tests beside the code."""

import ast
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("flows", "tasks", "models", "configs", "infra")
MODULES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("package", PACKAGES)
def test_our_package_names_belong_to_us_alone(package: str) -> None:
    owners = importlib.metadata.packages_distributions().get(package, [])
    assert set(owners) <= {"glassworks"}
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert Path(str(spec.origin)).parent == ROOT / package


def test_no_module_bears_the_name_of_a_standard_library_module() -> None:
    stems = {file.stem for folder in ("flows", "tasks") for file in (ROOT / folder).glob("*.py")}
    assert not stems & set(sys.stdlib_module_names)


@pytest.mark.parametrize("file", MODULES, ids=name)
def test_a_module_is_at_most_250_lines_and_a_function_at_most_60(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert source.count("\n") <= 250
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_every_filter_source_format_and_preset_file_is_text_we_can_read() -> None:
    for file in (ROOT / "configs").rglob("*.yaml"):
        assert file.read_text(encoding="utf-8").startswith("#"), f"{name(file)}: say in a comment what it is for"
