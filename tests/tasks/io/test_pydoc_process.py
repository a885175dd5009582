"""Real child processes render real modules, and die without harm."""

import sysconfig
from pathlib import Path

import pytest

from tasks.io.pydoc_process import Rendered, render

LIMIT = 0.5
MODULES = {
    "calm": '"""Calm and documented."""\ndef area(width, height):\n    """Return the area."""\n',
    "busy": "while True: pass\n",
    "fatal": "import os\nos.abort()\n",
    "quitter": "import sys\nsys.exit(3)\n",
    "leaver": "import os\nos._exit(7)\n",
    "loud": '"""Loud."""\nimport os\nprint("noise" * 9999)\nos.write(1, b"{}")\ninput()\n',
    "teller": '"""Teller."""\nimport os, tempfile\nHOME = dict(os.environ)\ndef where(here=tempfile.gettempdir()):\n'
    '    """Say where."""\n',
    "heir": '"""Heir."""\nclass Child(dict):\n    """A child."""\n    def own(self):\n        """Its own."""\n',
    "bare": "# only a comment\nx = {'a', 'b'}\n",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rendered]:
    folder = tmp_path_factory.mktemp("modules")
    for name, source in MODULES.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    batches = [["fatal", "calm", "busy", "loud", "leaver", "quitter", "teller"], ["missing", "heir", "bare"]]
    return {page.module: page for batch in render(batches, LIMIT, 2, [str(folder)]) for page in batch}


def test_a_module_that_hangs_crashes_or_leaves_costs_itself_only(pages: dict[str, Rendered]) -> None:
    assert {name: page.skipped for name, page in pages.items() if page.skipped} == {
        "busy": "ended: used more than 0.5 CPU s",
        "fatal": "ended: signal 6",
        "leaver": "ended: exit code 7",
        "quitter": "import failed: SystemExit",
        "loud": "import failed: EOFError",
        "missing": "import failed: ModuleNotFoundError",
    }
    assert "Return the area." in pages["calm"].html
    assert pages["calm"].summary == "Calm and documented."


def test_neither_the_environment_nor_folders_nor_data_values_are_shown(
    pages: dict[str, Rendered], tmp_path: Path
) -> None:
    page = pages["teller"].html
    assert "Say where." in page
    assert "here='/home/user'" in page
    assert "PYTHONHASHSEED" not in page
    assert sysconfig.get_path("stdlib") not in page


def test_members_of_base_classes_are_left_to_their_own_page(pages: dict[str, Rendered]) -> None:
    assert "Its own." in pages["heir"].html
    assert "setdefault" not in pages["heir"].html


def test_comments_above_a_definition_are_no_documentation(pages: dict[str, Rendered]) -> None:
    assert "only a comment" not in pages["bare"].html


def test_a_standard_library_page_has_its_sections_as_headings() -> None:
    [[page]] = render([["json.decoder"]], 10, 1)
    assert "<h2>" in page.html
    assert "Return the Python representation of" in page.html
    assert "<table" not in page.html
