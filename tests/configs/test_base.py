"""Settings are strict, frozen, identified by what shapes an output, and explain what they refuse."""

from pathlib import Path

import pytest
from pydantic import Field, ValidationError

from configs.base import Config, ConfigFileError, execution_field, fingerprint


class Part(Config):
    """A part that can be switched off."""

    enabled: bool = True
    limit: float = Field(0.5, ge=0, le=1)


class Item(Config):
    """An item of a list, with a name."""

    name: str
    weight: float = 1.0


class Whole(Config):
    """A whole with everything that occurs."""

    zebra: int = 1
    part: Part = Part()
    items: list[Item] = Field(default_factory=list)
    workers: int = execution_field(2)


def write(folder: Path, text: str, name: str = "whole.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_an_unknown_key_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    file = write(tmp_path, "part: {limt: 0.3}\n")
    with pytest.raises(ConfigFileError, match=r"part\.limt: unknown setting; known here: enabled, limit"):
        Whole.from_yaml(file)


def test_a_value_out_of_its_limits_names_its_place_and_what_was_found(tmp_path: Path) -> None:
    file = write(tmp_path, "part: {limit: 7}\n")
    with pytest.raises(ConfigFileError, match=r"part\.limit: .*less than or equal to 1, got 7"):
        Whole.from_yaml(file)


def test_malformed_yaml_names_the_file_and_line(tmp_path: Path) -> None:
    file = write(tmp_path, "part: {limit: 0.1\nzebra: [\n")
    with pytest.raises(ConfigFileError, match=r"whole\.yaml: not valid YAML: [\s\S]*line"):
        Whole.from_yaml(file)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigFileError, match=r"nowhere\.yaml: no such config file"):
        Whole.from_yaml("nowhere.yaml")


def test_defaults_give_way_to_yaml_and_yaml_to_overrides(tmp_path: Path) -> None:
    file = write(tmp_path, "zebra: 5\nitems: [{name: web, weight: 2}, {name: code}]\n")
    config = Whole.from_yaml(file, ("part.limit=0.25", "items.code.weight=7", "items.0.weight=3"))
    assert (config.zebra, config.part.limit, config.workers) == (5, 0.25, 2)
    assert [item.weight for item in config.items] == [3, 7]


@pytest.mark.parametrize("override", ["zebra", "=3", "items.books.weight=1", "zebra.more=1"])
def test_an_override_that_leads_nowhere_is_refused(tmp_path: Path, override: str) -> None:
    file = write(tmp_path, "zebra: 5\nitems: [{name: web}]\n")
    with pytest.raises(ConfigFileError, match="--set"):
        Whole.from_yaml(file, (override,))


def test_a_section_may_name_another_file(tmp_path: Path) -> None:
    write(tmp_path, "limit: 0.75\n", "part.yaml")
    assert Whole.from_yaml(write(tmp_path, "part: part.yaml\n")).part.limit == 0.75


def test_execution_settings_and_disabled_parts_do_not_change_the_fingerprint() -> None:
    assert Whole(workers=1).fingerprint() == Whole(workers=64).fingerprint()
    off = Whole(part=Part(enabled=False, limit=0.1))
    assert off.fingerprint() == Whole(part=Part(enabled=False, limit=0.9)).fingerprint()
    assert off.fingerprint() != Whole().fingerprint()


def test_a_fingerprint_does_not_depend_on_key_order_but_on_every_value() -> None:
    assert fingerprint({"a": 1, "b": [1, 2]}) == fingerprint({"b": [1, 2], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 1.5})


@pytest.mark.parametrize("value", [{"f": len}, {"s": {1, 2}}, {"x": float("nan")}, {1: 2}, object()])
def test_what_has_no_stable_form_has_no_fingerprint(value: object) -> None:
    with pytest.raises(TypeError):
        fingerprint(value)


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Whole().zebra = 3  # type: ignore[misc]


def test_form_fields_keep_the_order_of_the_code() -> None:
    properties = Whole.model_json_schema()["properties"]
    assert sorted(properties, key=lambda name: properties[name]["position"]) == ["zebra", "part", "items", "workers"]
