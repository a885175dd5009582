"""The language model file: found, verified, or clearly missing."""

from pathlib import Path

import pytest

from tasks.core.errors import InputError
from tasks.io import assets
from tasks.io.assets import language_model


def test_the_packaged_model_is_the_published_one() -> None:
    found = language_model()
    assert Path(found.path).stat().st_size == 938_013
    assert found.sha256 == "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"


def test_another_model_is_named_by_path_and_known_by_content(tmp_path: Path) -> None:
    (tmp_path / "mine.bin").write_bytes(b"model")
    first = language_model(str(tmp_path / "mine.bin")).sha256
    (tmp_path / "other.bin").write_bytes(b"model")
    assert language_model(str(tmp_path / "other.bin")).sha256 == first


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file; check `language\.model`"):
        language_model(str(tmp_path / "absent.bin"))


def test_a_missing_package_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "_PACKAGE", "no-such-package-here")
    with pytest.raises(InputError, match="pip install no-such-package-here"):
        language_model()


def test_a_changed_packaged_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "_SHA256", "0" * 64)
    with pytest.raises(InputError, match="SHA-256 is 8f3472cfe873…, not 000000000000…"):
        language_model()
