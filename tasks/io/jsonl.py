r"""JSON lines and Parquet rows to raw documents: a ``text`` field, and optional fields beside it.

Lines end at ``\n`` only, so that U+2028, U+0085 or a form feed inside a text tear nothing apart. A line that is no JSON
object, or has no text, becomes a :class:`BadRecord` with its byte offset (in the decompressed stream). Memory: one
line, or one batch of rows.
"""

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.core.document import BadRecord, Locator, RawDocument
from tasks.io.fields import MAX_CONTENT_BYTES, plain_text, utc_time

_MAX_LINE_BYTES = 4 * MAX_CONTENT_BYTES
_BATCH_ROWS = 1000
_BOM = b"\xef\xbb\xbf"
_FIELDS = ("text", "url", "title", "license", "fetched_at", "id")


def read_jsonl(file: IO[bytes], name: str) -> Iterator[RawDocument | BadRecord]:
    """Yield one document (or bad record) per line that is not blank."""
    offset = 0
    while line := file.readline(_MAX_LINE_BYTES):
        begin, offset = offset, offset + len(line)
        if len(line) == _MAX_LINE_BYTES and not line.endswith(b"\n"):
            offset += _skip_line(file)
            yield BadRecord(Locator(name, begin), "line_too_long", f"limit {_MAX_LINE_BYTES} bytes")
            continue
        content = line.removeprefix(_BOM) if begin == 0 else line
        if content.strip():
            yield _line(content, Locator(name, begin))


def _skip_line(file: IO[bytes]) -> int:
    """Read to the end of the line; return the number of bytes."""
    skipped = 0
    while block := file.readline(MAX_CONTENT_BYTES):
        skipped += len(block)
        if block.endswith(b"\n"):
            break
    return skipped


def read_parquet(file: IO[bytes], name: str) -> Iterator[RawDocument | BadRecord]:
    """Yield one document (or bad record) per row; the locator's offset is the row number."""
    table = pq.ParquetFile(file)
    columns = [column for column in _FIELDS if column in table.schema_arrow.names]
    if "text" not in columns:
        yield BadRecord(Locator(name, 0), "no_text", f"no column `text` among {', '.join(table.schema_arrow.names)}")
        return
    row = 0
    for batch in table.iter_batches(_BATCH_ROWS, columns=columns):
        for values in _rows(batch):
            yield _record(values, Locator(name, row))
            row += 1


def _line(line: bytes, locator: Locator) -> RawDocument | BadRecord:
    try:
        values = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            values = json.loads(line)  # lone surrogates, which orjson refuses
        except (ValueError, RecursionError) as error:
            return BadRecord(locator, "bad_json", str(error))
    if not isinstance(values, dict):
        return BadRecord(locator, "bad_json", f"expected an object, found {type(values).__name__}")
    return _record(values, locator)


def _record(values: Mapping[str, Any], locator: Locator) -> RawDocument | BadRecord:
    record_id = plain_text(values.get("id"))
    locator = Locator(locator.file, locator.offset, record_id)
    text = values.get("text")
    if not isinstance(text, str):
        return BadRecord(locator, "no_text", f"`text` is {type(text).__name__}" if "text" in values else "no `text`")
    return RawDocument(
        locator=locator,
        url=plain_text(values.get("url")),
        content=plain_text(text).encode()[: MAX_CONTENT_BYTES + 1],
        media_type="text/plain",
        charset="utf-8",
        fetched_at=utc_time(values.get("fetched_at")),
        title=plain_text(values.get("title")),
        license=plain_text(values.get("license")),
    )


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield rows as mappings; a text column of bytes is decoded, with broken bytes replaced."""
    for values in batch.to_pylist():
        if isinstance(values["text"], bytes):
            values["text"] = values["text"].decode(errors="replace")
        yield values
