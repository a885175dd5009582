"""How settings work: frozen, strict, from YAML, with an identity.

Precedence, stated once: defaults < YAML < form or ``--set``. The *identity* of a config is what shapes
an output; fields made with :func:`execution_field` say where and how fast, and stay out of it.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

_CONFIG_FOLDER = Path(__file__).parent


class ConfigFileError(ValueError):
    """A YAML file or an override that cannot become a config; the text is ready for a user."""


def _number_the_fields(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Give each property its declaration position, so that a form keeps the order of the code."""
    for position, name in enumerate(model.model_fields):
        if name in schema.get("properties", {}):
            schema["properties"][name]["position"] = position


class Config(BaseModel):
    """Base of every settings model: immutable, unknown keys refused, defaults checked too."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        allow_inf_nan=False,
        use_attribute_docstrings=False,
        json_schema_extra=_number_the_fields,
    )

    def identity(self) -> dict[str, Any]:
        """Return what shapes an output: every field but execution fields and disabled parts."""
        return {
            name: _stable(getattr(self, name), f"{type(self).__name__}.{name}")
            for name, field in type(self).model_fields.items()
            if not is_execution_field(field) and not _is_disabled(getattr(self, name))
        }

    def fingerprint(self) -> str:
        """Return the SHA-256 (hex) of the identity."""
        return fingerprint(self.identity())

    @classmethod
    def from_yaml(cls, path: str | Path, overrides: tuple[str, ...] = ()) -> Self:
        """Read a YAML file, apply ``a.b=value`` overrides, and validate.

        Raises:
            ConfigFileError: missing or malformed file, unknown key, or a value out of its limits.
        """
        file = find_config(path, cls)
        values = _expand(_read_mapping(file), cls, file)
        for override in overrides:
            _apply_override(values, override)
        return cls.checked(values, where=str(file))

    @classmethod
    def checked(cls, values: Mapping[str, Any], where: str) -> Self:
        """Validate ``values``; on failure say where, what was found and what is allowed.

        Raises:
            ConfigFileError: any value is refused.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            lines = [_describe(cls, entry) for entry in error.errors(include_url=False)]
            raise ConfigFileError(f"{where}: {len(lines)} setting(s) refused\n" + "\n".join(lines)) from None


def execution_field(default: Any, **arguments: Any) -> Any:  # noqa: ANN401 - like pydantic.Field
    """Make a field that says where or how fast, and is no part of the identity."""
    return Field(default, json_schema_extra={"identity": False}, **arguments)


def is_execution_field(field: Any) -> bool:  # noqa: ANN401 - pydantic's FieldInfo
    """Tell whether a model field was made by :func:`execution_field`."""
    extra = field.json_schema_extra
    return isinstance(extra, Mapping) and extra.get("identity") is False


def fingerprint(value: Any) -> str:  # noqa: ANN401 - any JSON-like value
    """Return the SHA-256 (hex) of canonical JSON; values without a stable form are refused.

    Raises:
        TypeError: a value is not JSON-like (callable, object, set …).
    """
    text = json.dumps(_stable(value, "value"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _stable(value: Any, where: str) -> Any:  # noqa: ANN401
    if isinstance(value, Config):
        return value.identity()
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"{where}: keys must be strings to have a stable identity, got {list(value)!r}")
        return {key: _stable(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_stable(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError(f"{where}: {value!r} has no stable form; use a finite number")
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise TypeError(f"{where}: {type(value).__name__} has no stable identity; use text, numbers, lists or mappings")


def _is_disabled(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, Config) and getattr(value, "enabled", True) is False


def find_config(path: str | Path, model: type[Config] | None = None) -> Path:
    """Find a YAML by path, or by name among the presets (``refresh/demo`` or ``demo``).

    Raises:
        ConfigFileError: nothing is there; the presets are listed.
    """
    given = Path(path)
    kind = model.__name__.removesuffix("Config").lower() if model else ""
    names = [given, _CONFIG_FOLDER / given, _CONFIG_FOLDER / kind / given]
    for candidate in [*names, *(name.with_name(name.name + ".yaml") for name in names)]:
        if candidate.is_file():
            return candidate
    presets = sorted(str(item.relative_to(_CONFIG_FOLDER)) for item in _CONFIG_FOLDER.glob(f"{kind or '*'}/*.yaml"))
    raise ConfigFileError(f"{path}: no such config file; give a path, or one of the presets: {', '.join(presets)}")


def preset(name: str) -> Path:
    """Return the path of a shipped preset, whatever lies in the working folder."""
    return _CONFIG_FOLDER / name


def _read_mapping(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ConfigFileError(f"{file}: not valid YAML: {error}; check indentation and quotes there") from None
    except UnicodeDecodeError as error:
        raise ConfigFileError(f"{file}: not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigFileError(f"{file}: expected a mapping of settings, found {type(values).__name__}")
    return values


def _expand(values: dict[str, Any], model: type[Config], file: Path) -> dict[str, Any]:
    """Replace a file name where a section is expected by that file's content."""
    expanded = dict(values)
    for name, field in model.model_fields.items():
        section = field.annotation
        value = values.get(name)
        if not (isinstance(section, type) and issubclass(section, Config)):
            continue
        if isinstance(value, str):
            near = (folder / value for folder in (file.parent, file.parent.parent))
            found = next((path for path in near if path.is_file()), None) or find_config(value, section)
            expanded[name] = _expand(_read_mapping(found), section, found)
    return expanded


def _apply_override(values: dict[str, Any], override: str) -> None:
    """Set ``a.b=value``; a list item is named by its number or by its ``name``."""
    path, separator, text = override.partition("=")
    if not separator or not path:
        raise ConfigFileError(f"--set {override}: expected key.path=value")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigFileError(f"--set {override}: the value is not valid YAML: {error}") from None
    *parents, last = path.split(".")
    target: Any = values
    for part in parents:
        target = _child(target, part, override)
    if isinstance(target, list):
        target[_position(target, last, override)] = value
    else:
        target[last] = value


def _child(target: Any, part: str, override: str) -> Any:  # noqa: ANN401
    if isinstance(target, list):
        return target[_position(target, part, override)]
    child = target.setdefault(part, {})
    if not isinstance(child, (dict, list)):
        raise ConfigFileError(f"--set {override}: {part} is {child!r}, not a section")
    return child


def _position(items: list[Any], part: str, override: str) -> int:
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    if part in names:
        return names.index(part)
    if part.isdigit() and int(part) < len(items):
        return int(part)
    raise ConfigFileError(f"--set {override}: {part} is none of {[name for name in names if name]}")


def _describe(model: type[Config], entry: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    where = ".".join(str(part) for part in entry["loc"]) or model.__name__
    if entry["type"] == "extra_forbidden":
        return f"  {where}: unknown setting; known here: {', '.join(_known(model, entry['loc'][:-1]))}"
    found = "" if entry["type"] == "missing" else f", got {entry['input']!r}"
    return f"  {where}: {entry['msg'].removeprefix('Value error, ')}{found if len(found) < 200 else ''}"


def _known(model: type[BaseModel], location: tuple[Any, ...]) -> list[str]:
    current: Any = model
    for part in location:
        if isinstance(part, int):
            continue
        annotation = current.model_fields[part].annotation
        current = next((item for item in (annotation, *get_args(annotation)) if _is_model(item)), current)
    return list(current.model_fields)


def _is_model(item: Any) -> bool:  # noqa: ANN401
    return isinstance(item, type) and issubclass(item, BaseModel)
