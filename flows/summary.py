"""What a command says at its end, for people (tables) and for programs (plain values)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from flows.funnel import STAGES
from tasks.core.counts import Counts
from tasks.core.manifest import Manifest

if TYPE_CHECKING:
    from flows.results import PipelineResult, PretrainResult, RefreshResult
    from tasks.crawl.stage import CrawlSummary

_MOST_REASONS = 4
_MINE = "store"


def print_pipeline(
    console: Console,
    result: "PipelineResult",
    root: str,
    seconds: Mapping[str, float],
    crawled: "CrawlSummary | None" = None,
) -> None:
    """Print both halves, the times, and what to type next."""
    refreshed, trained = result.refresh, result.pretrain
    all_seconds = {**seconds, **result.seconds}
    if crawled is not None and crawled.reused:
        console.print("crawl: nothing new; the environment is as it was", highlight=False)
    _print_data(console, refreshed)
    _print_run(console, trained)
    times = ", ".join(f"{name} {value:.1f} s" for name, value in all_seconds.items())
    _facts(console, {"time": f"{times}; {sum(all_seconds.values()):.1f} s in all"})
    if refreshed.reused and trained.reused:
        console.print("\nNothing to do: data version and run were there already.", style="bold")
    print_next(console, trained.run_id, root, trained.final_step)


def print_refresh(console: Console, result: "RefreshResult", seconds: float) -> None:
    """Print a data version."""
    _print_data(console, result)
    _facts(console, {"MLflow run": result.mlflow_run_id or "not tracked", "time": f"{seconds:.1f} s"})


def print_pretrain(console: Console, result: "PretrainResult", root: str, seconds: float) -> None:
    """Print a run, and what to type next."""
    _print_run(console, result)
    _facts(console, {"time": f"{seconds:.1f} s"})
    print_next(console, result.run_id, root, result.final_step)


def print_evaluations(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print loss and bits per byte of each source."""
    table = _table(
        "held-out documents", ("source", "left"), ("step", "right"), ("loss", "right"), ("bits per byte", "right")
    )
    for row in rows:
        table.add_row(str(row["source"]), f"{row['step']:,}", f"{row['loss']:.4f}", f"{row['bits_per_byte']:.4f}")
    console.print(table)


def print_crawl(console: Console, summary: "CrawlSummary", folder: Path) -> None:
    """Print what a crawl found."""
    table = _table("crawl", ("source", "left"), ("files", "right"), ("documents", "right"), ("MB", "right"))
    for name, source in summary.sources.items():
        table.add_row(name, f"{source.num_files:,}", f"{source.num_documents:,}", f"{source.num_bytes / 1e6:.2f}")
    console.print(table)
    _facts(
        console,
        {
            "folder": f"{folder.resolve()}{' (was there already)' if summary.reused else ''}",
            "licences": ", ".join(f"{name} {number}" for name, number in _most(summary.licenses, 6)),
            "no licence": f"{len(summary.unlicensed)} distributions, which the licence rule will refuse",
        },
    )


def print_next(console: Console, run_id: str, root: str, step: int) -> None:
    """Print the commands that a reader will want now."""
    option = "" if Path(root) == Path(_MINE).resolve() else f" --store {root}"
    commands = {
        "glassworks ui": "Prefect and MLflow in the browser",
        f"glassworks trace {run_id} --step {step}": "the documents behind a training step",
        "glassworks versions": "data versions in the store",
        "glassworks runs": "training runs in the store",
    }
    console.print("\nNext:", style="bold")
    width = max(len(command + option) for command in commands)
    for command, text in commands.items():
        console.print(f"  {command + option:<{width}}  {text}", highlight=False, soft_wrap=True)


def refresh_json(result: "RefreshResult") -> dict[str, Any]:
    """Return a data version as plain values."""
    manifest = result.manifest
    return {
        "version": result.version, "fingerprint": result.fingerprint, "reused": result.reused,
        "mlflow_run_id": result.mlflow_run_id, "alarms": list(result.alarms), "num_rows": manifest.num_rows,
        "num_tokens": manifest.num_tokens, "funnel": manifest.funnel, "mix": manifest.mix,
        "validation": manifest.validation,
    }  # fmt: skip


def pretrain_json(result: "PretrainResult") -> dict[str, Any]:
    """Return a run as plain values."""
    return {name: getattr(result, name) for name in result.__slots__}


def _print_data(console: Console, result: "RefreshResult") -> None:
    console.print(_funnel_table(result.manifest))
    console.print(_mix_table(result.manifest))
    console.print()
    _facts(console, {"data version": f"{result.version}{' (was there already)' if result.reused else ''}"})
    for alarm in result.alarms:
        console.print(f"! {alarm}", style="yellow", markup=False)


def _funnel_table(manifest: Manifest) -> Table:
    """Return per source what went in, what was kept, and what was dropped for which reasons."""
    table = _table("documents", ("source", "left"), ("in", "right"), ("kept", "right"), ("dropped", "right"),
                   ("by reason", "left"))  # fmt: skip
    all_seen, all_kept, all_reasons = 0, 0, Counter[str]()
    for source, stages in manifest.funnel.items():
        counts = [stages[stage] for stage in STAGES if stage in stages]
        reasons = Counter(Counts.total(counts).dropped)
        seen, kept = counts[0].seen, counts[-1].kept
        table.add_row(source, f"{seen:,}", f"{kept:,}", f"{reasons.total():,}", _reasons(reasons))
        all_seen, all_kept, all_reasons = all_seen + seen, all_kept + kept, all_reasons + reasons
    table.add_section()
    table.add_row("all", f"{all_seen:,}", f"{all_kept:,}", f"{all_reasons.total():,}", _reasons(all_reasons))
    return table


def _mix_table(manifest: Manifest) -> Table:
    names = ("weight", "asked", "got", "share", "epochs", "held out")
    table = _table("tokens", ("source", "left"), *((name, "right") for name in names))
    held_out = {record.source: record.num_tokens for record in manifest.validation}
    for mix in manifest.mix:
        table.add_row(
            mix.source, f"{mix.weight_normalised:.1%}", f"{mix.tokens_asked:,}", f"{mix.tokens_realised:,}",
            f"{mix.share_realised:.1%}", f"{mix.epochs:.2f}", f"{held_out.get(mix.source, 0):,}",
        )  # fmt: skip
    return table


def _print_run(console: Console, result: "PretrainResult") -> None:
    last = max((row["step"] for row in result.evaluations), default=0)
    print_evaluations(console, [row for row in result.evaluations if row["step"] == last])
    again = f" (attempt {result.attempt})" if result.attempt > 1 else ""
    facts = {
        "run": f"{result.run_id}{' (was there already)' if result.reused else again}",
        "trained on": f"{result.data_version}: {result.tokens_seen:,} tokens in {result.final_step:,} steps",
        "parameters": f"{result.num_parameters:,}",
        "loss": f"{result.first_loss:.4f} at the first step, {result.last_loss:.4f} at the last",
        "checkpoint": result.checkpoint_path,
        "MLflow run": result.mlflow_run_id or "not tracked",
    }
    console.print()
    _facts(console, facts)


def _facts(console: Console, facts: Mapping[str, str]) -> None:
    for name, value in facts.items():
        console.print(f"{name:<13} {value}", markup=False, highlight=False, soft_wrap=True)


def _table(title: str, *columns: tuple[str, str]) -> Table:
    table = Table(
        title=f"\n{title}", title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for name, justify in columns:
        table.add_column(name, justify="right" if justify == "right" else "left", header_style="dim")
    return table


def _reasons(reasons: Counter[str]) -> str:
    shown = ", ".join(f"{reason} {number:,}" for reason, number in _most(reasons, _MOST_REASONS))
    rest = len(+reasons) - _MOST_REASONS
    return shown + (f", {rest} more" if rest > 0 else "")


def _most(numbers: Mapping[str, int], most: int) -> list[tuple[str, int]]:
    return sorted(numbers.items(), key=lambda item: (-item[1], item[0]))[:most]
