"""Commands that run flows: crawl, refresh, pretrain, evaluate, pipeline, demo."""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.session import Json, Set, Store, Verbose, prepared, serving, session, use_store
from tasks.core.errors import InputError

if TYPE_CHECKING:
    from flows.pipeline_config import PipelineConfig
    from flows.results import PipelineResult
    from tasks.crawl.stage import CrawlSummary

Config = typer.Argument(help="A YAML file, or the name of a preset, such as demo.", metavar="CONFIG")

_DEMO = """Glassworks demo: a language model from the documentation, code and texts of this Python environment.
  1. crawl     save them as web pages (WARC), source trees, package descriptions and books
  2. refresh   extract, check licences and language, filter, deduplicate, mix, pack: a data version
  3. pretrain  train a small Llama on it with DeepSpeed, evaluate it per source, track it in MLflow
Everything goes to {root}. A second run finds the work done.
"""


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (demo, crawl, refresh, pretrain, evaluate, pipeline):
        app.command()(command)


def demo(
    store: Annotated[str, Store] = "",
    keep_ui: Annotated[bool, typer.Option("--keep-ui", help="At the end, keep both UIs up until Ctrl-C.")] = False,
    as_json: Annotated[bool, Json] = False,
    verbose: Annotated[bool, Verbose] = False,
) -> None:
    """Run everything on what comes with your own Python environment: no network, two cores, minutes."""
    from configs.base import preset
    from flows.pipeline_config import PipelineConfig
    from flows.summary import print_pipeline

    root = use_store(store)
    if "://" in root:
        raise InputError(root, "is no folder of this machine", "name one for the demo: --store DIR")
    with session(as_json=as_json) as here:
        here.console.print(_DEMO.format(root=root), highlight=False)
        settings = PipelineConfig.from_yaml(preset("pipeline/demo.yaml"))
        services = prepared(here, root, verbose=verbose)
        began = time.monotonic()
        with serving(here, services) as ui:
            started = time.monotonic()
            found = _crawl(Path(root) / "crawl")
            seconds = {"start": started - began, "crawl": time.monotonic() - started}
            result = _run_pipeline(settings)
            if as_json:
                here.print_json(_pipeline_json(result))
            else:
                print_pipeline(here.console, result, root, seconds, found)
            if keep_ui:
                from flows.store_commands import keep_serving

                with services.mlflow_server() as mlflow:
                    keep_serving(here.console, ui, mlflow)


def crawl(
    into: Annotated[str, typer.Option("--into", help="Folder to fill (default: crawl in the store).")] = "",
    store: Annotated[str, Store] = "",
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Save what comes with your Python environment as inputs that a refresh reads."""
    from flows.progress import reporting
    from flows.summary import print_crawl

    folder = Path(into) if into else Path(use_store(store)) / "crawl"
    with session(as_json=as_json) as here:
        with reporting(here.console):
            summary = _crawl(folder)
        if as_json:
            here.print_json({"folder": str(folder.resolve()), **summary.model_dump(mode="json")})
        else:
            print_crawl(here.console, summary, folder)


def refresh(
    config: Annotated[str, Config],
    overrides: Annotated[list[str] | None, Set] = None,
    store: Annotated[str, Store] = "",
    as_json: Annotated[bool, Json] = False,
    verbose: Annotated[bool, Verbose] = False,
) -> None:
    """Turn sources into a data version: the data half."""
    from flows.refresh_config import RefreshConfig
    from flows.runners import runner_for
    from flows.stores import store_url
    from flows.summary import print_refresh, refresh_json

    settings = RefreshConfig.from_yaml(config, _with_store(overrides, "store", store))
    with session(as_json=as_json) as here:
        services = prepared(here, store_url(settings.store), verbose=verbose)
        from flows.refresh import refresh as flow

        began = time.monotonic()
        with serving(here, services):
            result = flow.with_options(task_runner=runner_for(settings.execution))(settings)
        if as_json:
            here.print_json(refresh_json(result))
        else:
            print_refresh(here.console, result, time.monotonic() - began)


def pretrain(
    config: Annotated[str, Config],
    overrides: Annotated[list[str] | None, Set] = None,
    store: Annotated[str, Store] = "",
    as_json: Annotated[bool, Json] = False,
    verbose: Annotated[bool, Verbose] = False,
) -> None:
    """Train a model on a data version: the training half."""
    from flows.pretrain_config import PretrainConfig
    from flows.stores import store_url
    from flows.summary import pretrain_json, print_pretrain

    settings = PretrainConfig.from_yaml(config, _with_store(overrides, "store", store))
    root = store_url(settings.store)
    with session(as_json=as_json) as here:
        services = prepared(here, root, verbose=verbose)
        from flows.pretrain import pretrain as flow

        began = time.monotonic()
        with serving(here, services):
            result = flow(settings)
        if as_json:
            here.print_json(pretrain_json(result))
        else:
            print_pretrain(here.console, result, root, time.monotonic() - began)


def evaluate(
    run: Annotated[str, typer.Argument(help="Id of a run, as `glassworks runs` shows it.", metavar="RUN")],
    store: Annotated[str, Store] = "",
    as_json: Annotated[bool, Json] = False,
    verbose: Annotated[bool, Verbose] = False,
) -> None:
    """Measure the last checkpoint of a run on the held-out documents of each source."""
    from flows.summary import print_evaluations

    root = use_store(store)
    with session(as_json=as_json) as here:
        services = prepared(here, root, verbose=verbose)
        from flows.evaluate import EvaluateConfig
        from flows.evaluate import evaluate as flow

        settings = EvaluateConfig.checked({"run_id": run, "store": root}, where="evaluate")
        with serving(here, services):
            rows = flow(settings)
        if as_json:
            here.print_json(list(rows))
        else:
            print_evaluations(here.console, rows)


def pipeline(
    config: Annotated[str, Config],
    overrides: Annotated[list[str] | None, Set] = None,
    store: Annotated[str, Store] = "",
    as_json: Annotated[bool, Json] = False,
    verbose: Annotated[bool, Verbose] = False,
) -> None:
    """Run both halves in a row."""
    from flows.pipeline_config import PipelineConfig
    from flows.stores import store_url
    from flows.summary import print_pipeline

    settings = PipelineConfig.from_yaml(config, _with_store(overrides, "refresh.store", store))
    root = store_url(settings.refresh.store)
    with session(as_json=as_json) as here:
        services = prepared(here, root, verbose=verbose)
        with serving(here, services):
            result = _run_pipeline(settings)
        if as_json:
            here.print_json(_pipeline_json(result))
        else:
            print_pipeline(here.console, result, root, {})


def _run_pipeline(settings: "PipelineConfig") -> "PipelineResult":
    from flows.pipeline import pipeline as flow

    result: PipelineResult = flow(settings)
    return result


def _pipeline_json(result: "PipelineResult") -> dict[str, Any]:
    from flows.summary import pretrain_json, refresh_json

    parts = {"refresh": refresh_json(result.refresh), "pretrain": pretrain_json(result.pretrain)}
    return {**parts, "seconds": dict(result.seconds)}


def _with_store(overrides: list[str] | None, key: str, store: str) -> tuple[str, ...]:
    """Return the overrides; a store on the command line wins over the config's."""
    import json

    given = use_store(store) if store else ""
    return (*(overrides or ()), *((f"{key}={json.dumps(given)}",) if given else ()))


def _crawl(folder: Path) -> "CrawlSummary":
    """Crawl with a bar for each thing that the crawler reports."""
    from flows.progress import Stage, reporter
    from tasks.crawl.crawler import crawl as crawl_environment
    from tasks.crawl.stage import CrawlConfig

    with ExitStack() as stack:
        current: dict[str, tuple[Stage, int]] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in current:
                stack.close()
                current[what] = (stack.enter_context(reporter().stage(what, total)), 0)
            stage, before = current[what]
            stage.advance(done - before)
            current[what] = (stage, done)

        return crawl_environment(folder, CrawlConfig(), report)
