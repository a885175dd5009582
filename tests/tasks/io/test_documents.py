"""Documents on disk: round trips, counts, reuse by identity."""

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.core.document import Document, Dropped, Locator, Verdict, doc_id_for
from tasks.io.documents import batched, find_output, read_documents, read_dropped, transform, write_output
from tasks.io.store import Store

TEXT = st.text(st.characters(codec="utf-8"), max_size=50)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    locator = Locator(draw(TEXT), draw(st.integers(0, 2**62)), draw(TEXT))
    text = draw(TEXT)
    return Document(
        doc_id_for("web", locator), "web", draw(TEXT), draw(TEXT), locator,
        draw(st.none() | st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))),
        draw(TEXT), draw(TEXT), text, num_bytes=len(text.encode()), signals={"length": float(len(text))},
    )  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(documents(), max_size=6))
def test_any_documents_come_back_as_they_were(tmp_path: Path, items: list[Document]) -> None:
    store = Store(str(tmp_path))
    output = write_output(store, "quality", "web", "x", "f" * 64, "i" * 64, items, signals=("length",))
    assert list(read_documents(store, output.kept_path)) == items


def document(number: int, text: str = "text") -> Document:
    locator = Locator("a", number)
    return Document(doc_id_for("web", locator), "web", "", "u", locator, None, "", "", text, num_bytes=len(text))


def test_kept_and_dropped_are_written_apart_and_counted(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    gone = Dropped.of(document(2), "quality", Verdict.drop("too_short", 3, 50), duplicate_of=b"x" * 16)
    output = write_output(store, "quality", "web", "x", "f" * 64, "i" * 64, [document(1), gone])
    assert list(read_dropped(store, output.dropped_path)) == [gone]
    assert (output.counts.seen, output.counts.kept, output.counts.dropped) == (2, 1, {"too_short": 1})


def test_a_finished_output_is_found_again_with_its_counts(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    place = ("quality", "web", "x", "f" * 64, "i" * 64)
    assert find_output(store, *place) is None
    written = write_output(store, *place, [document(1)])
    found = find_output(store, *place)
    assert found is not None
    assert found.reused
    assert found.counts == written.counts


def test_a_stage_runs_once_per_identity(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    upstream = write_output(store, "extract", "web", "x", "f" * 64, "i" * 64, [document(1), document(2)])
    runs: list[int] = []

    def function(items: object) -> list[Document]:
        runs.append(1)
        return list(items)  # type: ignore[call-overload, no-any-return]

    first = transform(store, upstream, "safety", "a" * 64, function)
    again = transform(store, upstream, "safety", "a" * 64, function)
    other = transform(store, upstream, "safety", "b" * 64, function)
    assert (len(runs), first.reused, again.reused, other.reused) == (2, False, True, False)
    assert first.kept_path == again.kept_path != other.kept_path


def test_the_same_documents_give_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        store = Store(str(tmp_path / name))
        output = write_output(store, "quality", "web", "x", "f" * 64, "i" * 64, [document(1), document(2)])
        contents.append(store.read_bytes(output.kept_path))
    assert contents[0] == contents[1]


@given(st.lists(st.integers()), st.integers(1, 7))
def test_batches_hold_all_items_in_order(items: list[int], size: int) -> None:
    batches = list(batched(items, size))
    assert [item for batch in batches for item in batch] == items
    assert all(len(batch) == size for batch in batches[:-1])
