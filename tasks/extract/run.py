"""Extraction of one input: pages with limits in child processes, plain texts in one go.

HTML can hang or explode, so each page goes to a child by itself. Texts cannot, so a whole input of them is read,
cleaned and written inside one child, without the cost of a pipe per text.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from tasks.core.document import Document, Dropped
from tasks.extract.stage import STAGE, ExtractConfig, Loss, Raw, extract, extract_one
from tasks.io.child import Limits
from tasks.io.children import CHILDREN
from tasks.io.documents import StageOutput, find_output, write_output
from tasks.io.inputs import Input
from tasks.io.readers import read
from tasks.io.store import Store

_PAGE_FORMATS = ("warc", "html")


def extract_to_store(store: Store, item: Input, identity: str, snapshot: str, config: ExtractConfig) -> StageOutput:
    """Extract all documents of an input into the store, unless that was done already."""
    found = find_output(store, STAGE, item.source, item.name, item.sha256, identity)
    if found:
        return found
    one = partial(extract_one, source=item.source, snapshot=snapshot, config=config)
    if item.format not in _PAGE_FORMATS:
        return CHILDREN.call(_write_here, store, item, identity, one)
    limits = Limits(cpu_seconds=config.cpu_seconds_per_page, memory_bytes=config.memory_per_page_bytes)

    def run(items: Iterable[Raw]) -> Iterator[Document | Dropped | Loss]:
        return CHILDREN.map(one, items, limits)

    return _write(store, item, identity, extract(read(item), source=item.source, run=run))


def _write_here(store: Store, item: Input, identity: str, one: "partial[Document | Dropped]") -> StageOutput:
    return _write(store, item, identity, map(one, read(item)))


def _write(store: Store, item: Input, identity: str, results: Iterable[Document | Dropped]) -> StageOutput:
    return write_output(store, STAGE, item.source, item.name, item.sha256, identity, results)
