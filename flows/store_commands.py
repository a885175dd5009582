"""Commands that look at what is there: versions, runs, trace, config, ui. All but ``ui`` need no server."""

import signal
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.session import Json, Set, Store, prepared, session, use_store

if TYPE_CHECKING:
    from rich.console import Console

    from configs.base import Config as ConfigModel

_WHOLE = {"run", "version", "data_version", "created_at"}
_ML_VIEW = "/#/experiments?workflowType=machine_learning"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (ui, versions, runs, trace, config):
        app.command()(command)


def ui(store: Annotated[str, Store] = "") -> None:
    """Open the Prefect and MLflow servers of a store on 127.0.0.1, until Ctrl-C."""
    root = use_store(store)
    with session(as_json=False) as here:
        services = prepared(here, root)
        with services.prefect_server() as prefect, services.mlflow_server() as mlflow:
            keep_serving(here.console, prefect, mlflow)


def keep_serving(console: "Console", prefect: str, mlflow: str) -> None:
    """Print both links and wait for Ctrl-C or SIGTERM."""
    ended = threading.Event()
    console.print(f"\nPrefect  {prefect}/runs\nMLflow   {mlflow}{_ML_VIEW}\n\nCtrl-C stops both.", highlight=False)
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ended.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def versions(store: Annotated[str, Store] = "", as_json: Annotated[bool, Json] = False) -> None:
    """List the data versions in the store."""
    use_store(store)
    with session(as_json=as_json) as here:
        from flows.listings import version_rows
        from flows.stores import open_store

        rows = version_rows(open_store())
        if as_json:
            here.print_json(rows)
        else:
            _print_rows(here.console, rows, "No data version yet: `glassworks demo` or `glassworks refresh CONFIG`.")


def runs(store: Annotated[str, Store] = "", as_json: Annotated[bool, Json] = False) -> None:
    """List the training runs in the store."""
    use_store(store)
    with session(as_json=as_json) as here:
        from flows.listings import run_rows
        from flows.stores import open_store

        rows = run_rows(open_store())
        if as_json:
            here.print_json(rows)
        else:
            shown = [{name: value for name, value in row.items() if name != "mlflow_run_id"} for row in rows]
            _print_rows(here.console, shown, "No run yet: `glassworks demo` or `glassworks pretrain CONFIG`.")


def trace(
    run: Annotated[str, typer.Argument(help="Id of a run, as `glassworks runs` shows it.", metavar="RUN")],
    step: Annotated[int, typer.Option("--step", min=1, help="Training step, counted from 1.")],
    store: Annotated[str, Store] = "",
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Show the documents that a training step saw: address, licence and text."""
    use_store(store)
    with session(as_json=as_json) as here:
        from flows.stores import open_store
        from flows.tracing import trace_step

        segments = list(trace_step(open_store(), run, step))
        if as_json:
            here.print_json(segments)
            return
        rows = [
            {
                "row": segment.row,
                "source": segment.source,
                "tokens": segment.num_tokens,
                "from": segment.offset,
                "document": segment.title or segment.url or segment.file,
                "license": segment.license,
                "text": " ".join(segment.excerpt.split())[:60],
            }
            for segment in segments
        ]
        _print_rows(here.console, rows, "This step saw no document.")
        tokens = sum(segment.num_tokens for segment in segments)
        documents = len({segment.doc_id for segment in segments})
        here.console.print(
            f"{len(segments):,} pieces of {documents:,} documents, {tokens:,} tokens; --json tells addresses and ids",
            highlight=False,
        )


def config(
    name: Annotated[str, typer.Argument(help="A YAML file, or the name of a preset.", metavar="CONFIG")],
    overrides: Annotated[list[str] | None, Set] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Print a config as it is resolved: defaults, then the file, then --set."""
    with session(as_json=as_json) as here:
        import yaml

        values = _model_of(name).from_yaml(name, tuple(overrides or ())).model_dump(mode="json")
        if as_json:
            here.print_json(values)
        else:
            typer.echo(yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=120), nl=False)


def _model_of(name: str) -> "type[ConfigModel]":
    """Tell which config a file is from the sections that it has."""
    import yaml

    from configs.base import find_config

    try:
        values = yaml.safe_load(find_config(name).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        values = {}  # the model below will say where it is malformed
    sections = set(values) if isinstance(values, dict) else set()
    if {"refresh", "pretrain"} & sections:
        from flows.pipeline_config import PipelineConfig

        return PipelineConfig
    if "train" in sections:
        from flows.pretrain_config import PretrainConfig

        return PretrainConfig
    from flows.refresh_config import RefreshConfig

    return RefreshConfig


def _print_rows(console: "Console", rows: Sequence[dict[str, Any]], empty: str) -> None:
    from rich.table import Table

    if not rows:
        console.print(empty, markup=False)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, value in rows[0].items():
        justify: Literal["right", "left"] = "right" if isinstance(value, (int, float)) else "left"
        table.add_column(name.replace("_", " "), justify=justify, overflow="fold", no_wrap=name in _WHOLE)
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    console.print(table, highlight=False)


def _shown(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
