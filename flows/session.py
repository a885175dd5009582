"""What every command needs: where the store is, what may be printed where, and a Prefect server for its flows.

With ``--json`` standard output carries one JSON document and nothing else: until the end it is an
alias of standard error, for this process and for all that it starts.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from tasks.io.services import LocalServices

STORE_VARIABLE = "GLASSWORKS_STORE"
_LOCAL_ROOT = Path("store")
_WIDTH_IN_FILES = 120
_MOST_SECONDS_TO_SEND = 15.0


class Session:
    """One command: its console for people, and its result for programs."""

    def __init__(self, console: "Console", output: int, *, as_json: bool) -> None:
        self.console = console
        self.as_json = as_json
        self._output = output

    def print_json(self, value: Any) -> None:  # noqa: ANN401 - JSON
        """Write the command's one JSON document (numbers that are not finite become null)."""
        import orjson

        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        content = orjson.dumps(value, default=_plain, option=options) + b"\n"
        while content:
            content = content[os.write(self._output, content) :]


@contextmanager
def session(*, as_json: bool) -> Iterator[Session]:
    """Give a command its console; with ``as_json``, keep everything but the result off standard output."""
    from rich.console import Console

    sys.stdout.flush()
    output = os.dup(1)
    try:
        if as_json:
            os.dup2(2, 1)
        console = Console(stderr=as_json)
        if not console.is_terminal:
            console = Console(stderr=as_json, width=_WIDTH_IN_FILES)
        yield Session(console, output, as_json=as_json)
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)


def prepared(session: Session, root: str, *, verbose: bool = False) -> "LocalServices":
    """Set what Prefect and MLflow read when they are imported; return the store's servers, not started yet.

    Settings are read before this, so that a mistake in them is told at once; no settings model imports Prefect.
    """
    services = local_services(root, session)
    try:
        services.root.mkdir(parents=True, exist_ok=True)  # Prefect makes its home there when it is imported
    except OSError as error:
        from tasks.core.errors import StoreError

        raise StoreError(root, f"cannot be made ({error.strerror})", "check the path and its owner") from error
    services.environment(verbose=verbose)
    return services


@contextmanager
def serving(session: Session, services: "LocalServices") -> Iterator[str]:
    """Run flows inside: a Prefect server is there and progress is shown. Yields the UI's address."""
    from flows.progress import reporting

    with services.prefect_server() as url:
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()  # Prefect was imported, with the flow, before its server had an address
        _check_api(url)
        try:
            with reporting(session.console):
                yield url
        finally:
            _send_what_is_left()


def _check_api(url: str) -> None:
    """Raise a LaunchError when nothing answers, as a PREFECT_API_URL of yesterday."""
    from prefect import get_client

    from tasks.core.errors import LaunchError

    with get_client(sync_client=True) as client:
        if error := client.api_healthcheck():
            fix = "start that server, or unset PREFECT_API_URL and one is started here"
            raise LaunchError(f"Prefect at {url}", f"does not answer ({error})", fix)


def _send_what_is_left() -> None:
    """Let Prefect send its last logs and events: without a server, each would be tried for a minute at the exit."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    for worker in (APILogWorker, EventsWorker):
        worker.drain_all(timeout=_MOST_SECONDS_TO_SEND)


def local_services(store: str, session: Session) -> "LocalServices":
    """Return the servers of a store; those of a remote store keep their files in ``./store``."""
    from tasks.io.services import LocalServices

    root = _LOCAL_ROOT if "://" in store else Path(store)
    return LocalServices(root, lambda text: session.console.print(text, markup=False, highlight=False))


def use_store(store: str) -> str:
    """Make a store named on the command line everybody's; return the store's root."""
    from flows.stores import store_url

    if store:
        os.environ[STORE_VARIABLE] = store
    return store_url()


def _plain(value: Any) -> Any:  # noqa: ANN401
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"{type(value).__name__} is no JSON")


Store = typer.Option("--store", help="Root of the store (default: GLASSWORKS_STORE, else ./store).", metavar="DIR|URL")
Json = typer.Option("--json", help="Print the result as JSON, and nothing else, on standard output.")
Set = typer.Option(
    "--set", help="Override one setting, for example --set mix.seed=7; may be repeated.", metavar="a.b=c"
)
Verbose = typer.Option("--verbose", "-v", help="Show the log of the flow on the console, too.")
