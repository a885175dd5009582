"""The command ``glassworks``: every user fault is one screen that says where, what and what to do.

Commands load what they need when they run, so that ``--help`` is there at once (0.2 s). Exit codes: 0 done, 2 a fault
that the user can mend, 130 stopped by Ctrl-C; a bug keeps its traceback.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows import flow_commands, store_commands
from tasks.core.errors import PipelineError

USER_FAULT = 2
STOPPED = 130

app = typer.Typer(
    name="glassworks",
    help="Language models made behind glass: raw pages in, a trained and tracked model out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
flow_commands.register(app)
store_commands.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"glassworks {_version()}")
        raise typer.Exit


def _version() -> str:
    """Return the installed version, or in a checkout that is not installed, the one it declares."""
    import tomllib
    from importlib import metadata

    try:
        return metadata.version("glassworks")
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[1] / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Language models made behind glass: raw pages in, a trained and tracked model out."""


def main() -> None:
    """Run the command line; end with an exit code."""
    try:
        app()
    except PipelineError as error:
        _show_fault(type(error).__name__, error.where, error.problem, error.fix)
    except ValueError as error:
        from configs.base import ConfigFileError

        if not isinstance(error, ConfigFileError):
            raise
        _show_fault("Config", "", str(error), "")
    except SystemExit as end:
        if end.code == STOPPED:
            typer.echo("\nStopped. Finished work is kept: the same command continues from there.", err=True)
        raise
    else:
        return
    sys.exit(USER_FAULT)


def _show_fault(kind: str, where: str, problem: str, fix: str) -> None:
    """Print a fault as one panel on standard error."""
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    text = Text()
    parts = [("", problem)] if not where else [("Where  ", where), ("What   ", problem), ("Do     ", fix)]
    for label, content in parts:
        text.append(label, style="bold")
        text.append(content.strip().replace("\n", "\n" + " " * len(label)) + "\n")
    text.rstrip()
    title = f"{kind.removesuffix('Error')} error"
    Console(stderr=True).print(Panel(text, title=title, title_align="left", border_style="red", expand=False))
