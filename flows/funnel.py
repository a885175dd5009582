"""The funnel: per source and stage, what came in, what was kept, what was dropped and why."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

from tasks.core.counts import Counts
from tasks.core.errors import InputError
from tasks.io.documents import StageOutput

Funnel = dict[str, dict[str, Counts]]
STAGES = ("extract", "safety", "language", "quality", "dedup", "mix")


def funnel_of(outputs: Iterable[StageOutput], dedup: Mapping[str, Counts], mix: Mapping[str, Counts]) -> Funnel:
    """Add up the counts of all inputs per source and stage.

    Raises:
        ValueError: a stage did not see what the stage before it kept, so documents got lost (a bug).
    """
    funnel = _added_up(outputs)
    for stage, parts in (("dedup", dedup), ("mix", mix)):
        for source, counts in parts.items():
            funnel.setdefault(source, {})[stage] = counts
    check_telescopes(funnel)
    return {
        source: {stage: funnel[source][stage] for stage in STAGES if stage in funnel[source]}
        for source in sorted(funnel)
    }


def check_none_is_empty(outputs: Iterable[StageOutput]) -> None:
    """Refuse to go on without a source.

    Raises:
        InputError: no document of a source is left; its counts say where they went.
    """
    for source, stages in sorted(_added_up(outputs).items()):
        last = next(stage for stage in reversed(STAGES) if stage in stages)
        if not stages[last].kept:
            went = "; ".join(
                f"{stage} kept {counts.kept:,} of {counts.seen:,}"
                + (f" ({reasons_text(counts)})" if counts.dropped else "")
                for stage, counts in stages.items()
            )
            raise InputError(
                f"source {source}", f"no document is left: {went}", "look at its inputs, licence and limits"
            )


def check_telescopes(funnel: Funnel) -> None:
    """Assert that each stage saw exactly what the stage before it kept (R-1.2-2)."""
    for source, stages in funnel.items():
        present = [stage for stage in STAGES if stage in stages]
        for before, after in pairwise(present):
            if stages[before].kept != stages[after].seen:
                raise ValueError(f"{source}: {before} kept {stages[before].kept}, but {after} saw {stages[after].seen}")


def funnel_table(funnel: Funnel) -> list[dict[str, str | int]]:
    """Return the funnel as rows for a table: source, stage, seen, kept, dropped, megabytes kept, main reasons."""
    return [
        {
            "source": source,
            "stage": stage,
            "seen": counts.seen,
            "kept": counts.kept,
            "dropped": counts.seen - counts.kept,
            "MB kept": f"{counts.bytes_kept / 1e6:.2f}",
            "reasons": reasons_text(counts),
        }
        for source, stages in funnel.items()
        for stage, counts in stages.items()
    ]


def reasons_text(counts: Counts, most: int = 4) -> str:
    """Return the most frequent reasons as ``reason 12, other 3``."""
    by_number = sorted(counts.dropped.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{reason} {number:,}" for reason, number in by_number[:most])
    return shown + (f", {len(by_number) - most} more" if len(by_number) > most else "")


def _added_up(outputs: Iterable[StageOutput]) -> Funnel:
    funnel: Funnel = {}
    for output in outputs:
        stages = funnel.setdefault(output.source, {})
        stages[output.stage] = stages.get(output.stage, Counts()) + output.counts
    return funnel
