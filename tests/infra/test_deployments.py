"""Deployments: one per preset, with a form that is complete, typed and free of unions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.pipeline_config import PipelineConfig
from flows.pretrain_config import PretrainConfig
from flows.refresh_config import RefreshConfig
from infra.deployments import deployments

ROOT = Path(__file__).parents[2]


def test_every_preset_is_a_deployment_that_starts_by_module_and_opens_filled() -> None:
    made = {f"{item.flow_name}/{item.name}": item for item in deployments()}
    presets = {f"{file.parent.name}/{file.stem}" for file in (ROOT / "configs").glob("*/*.yaml")}
    assert set(made) == presets
    for name, item in made.items():
        flow = name.partition("/")[0]
        assert item.entrypoint == f"flows.{flow}.{flow}"
        assert item.description
    demo = made["refresh/demo"].parameters["config"]
    assert RefreshConfig.model_validate(demo) == RefreshConfig.from_yaml("refresh/demo.yaml")


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every property of a schema with its definitions."""
    for name, part in [("", schema), *schema.get("$defs", {}).items()]:
        for field, value in part.get("properties", {}).items():
            yield f"{name}.{field}", value


@pytest.mark.parametrize("model", [RefreshConfig, PretrainConfig, PipelineConfig])
def test_no_form_field_falls_back_to_raw_json_and_each_says_what_it_is(model: type[Any]) -> None:
    schema = model.model_json_schema()
    for name, field in properties(schema):
        section = schema["$defs"][field["$ref"].rpartition("/")[2]] if "$ref" in field else {}
        assert not {"anyOf", "oneOf"} & set(field), f"{name} is a union"
        assert field.get("description") or section.get("description"), f"{name} has no description"
        assert "position" in field, f"{name} has no position"
