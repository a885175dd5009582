"""From a training step back to the documents of its batch, and the text that the model saw of each."""

from dataclasses import dataclass

from tasks.core.errors import InputError
from tasks.io.records import RunFolder, read_records
from tasks.io.segments import read_index, read_segments
from tasks.io.store import Store
from tasks.io.versions import read_manifest
from tasks.tokens.stage import load_tokenizer
from tasks.train.batches import global_batch

_EXCERPT_TOKENS = 64


@dataclass(frozen=True, slots=True)
class TracedSegment:
    """A document, or a piece of one, in a row of a step's batch. ``offset`` and ``num_tokens`` are in tokens."""

    row: int
    doc_id: str
    source: str
    url: str
    file: str
    file_offset: int
    title: str
    license: str
    offset: int
    num_tokens: int
    excerpt: str


def trace_step(store: Store, run_id: str, step: int) -> list[TracedSegment]:
    """Return what a training step (counted from 1) saw, row by row.

    Raises:
        InputError: no such run, or it has not come to this step.
    """
    run = RunFolder(store.local_path(f"runs/{run_id}"))
    facts = run.facts()
    last = max((record["step"] for record in read_records(run.metrics)), default=0)
    if not 1 <= step <= last:
        raise InputError(f"run {run_id}", f"has no step {step}", f"use a step from 1 to {last}")
    manifest = read_manifest(store, facts["data_version"])
    train = facts["config"]
    rows = global_batch(step - 1, train["global_batch_size"], manifest.num_rows, train["seed"])
    segments = read_segments(store, manifest, [int(row) for row in rows])
    index = read_index(store, manifest.version, (segment.doc_id for segment in segments))
    tokenizer = load_tokenizer(store.read_bytes(f"versions/{manifest.version}/tokenizer/tokenizer.json").decode())
    return [
        TracedSegment(
            row=segment.row,
            doc_id=segment.doc_id.hex(),
            source=segment.source,
            url=index[segment.doc_id]["url"],
            file=index[segment.doc_id]["locator"]["file"],
            file_offset=index[segment.doc_id]["locator"]["offset"],
            title=index[segment.doc_id]["title"],
            license=index[segment.doc_id]["license"],
            offset=segment.offset,
            num_tokens=len(segment.input_ids),
            excerpt=tokenizer.decode(list(segment.input_ids[:_EXCERPT_TOKENS])),
        )
        for segment in segments
    ]
