"""The vocabulary: ids, verdicts, counts and seeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.core.counts import Counts, Tally
from tasks.core.document import KEEP, Document, Dropped, Locator, Verdict, doc_id_for
from tasks.core.errors import InputError
from tasks.core.seeds import fraction, hash64, seed_for


def document(text: str = "some text", name: str = "a") -> Document:
    locator = Locator(name, 0)
    return Document(doc_id_for("web", locator), "web", "", "u", locator, None, "", "", text, num_bytes=len(text))


def test_a_verdict_refuses_to_be_a_boolean() -> None:
    with pytest.raises(TypeError, match=r"ask \.keep"):
        assert Verdict.drop("too_short", 3, 50)
    assert KEEP.keep


def test_the_id_of_a_document_depends_on_source_and_every_part_of_its_place() -> None:
    places = [
        Locator("a", 0),
        Locator("a", 1),
        Locator("b", 0),
        Locator("a", 0, "r"),
        Locator("a1", 0),
        Locator("", 10),
    ]
    ids = {doc_id_for(source, place) for source in ("web", "code") for place in places}
    assert len(ids) == 2 * len(places)
    assert all(len(item) == 16 for item in ids)


def test_moving_letters_between_source_and_file_changes_the_id() -> None:
    assert doc_id_for("web", Locator("a", 0)) != doc_id_for("we", Locator("ba", 0))


def test_counts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"seen 5 is not kept 3 \+ dropped 1"):
        Counts(seen=5, kept=3, dropped={"too_short": 1})


def test_counts_add_up_reason_by_reason() -> None:
    total = Counts.total([Counts(seen=3, kept=1, dropped={"a": 2}), Counts(seen=4, kept=2, dropped={"a": 1, "b": 1})])
    assert (total.seen, total.kept, total.dropped) == (7, 3, {"a": 3, "b": 1})


def test_a_tally_counts_documents_bytes_and_reasons() -> None:
    tally = Tally()
    tally.add(document("12345"))
    tally.add(Dropped.of(document("123"), "quality", Verdict.drop("too_short", 3, 50)))
    counts = tally.counts()
    assert counts == Counts(seen=2, kept=1, dropped={"too_short": 1}, bytes_kept=5, bytes_dropped=3)


def test_a_dropped_document_keeps_its_address_reason_numbers_and_head() -> None:
    dropped = Dropped.of(document("x" * 500), "quality", Verdict.drop("too_long", 0.123456789, 0.1))
    assert (dropped.reason, dropped.value, dropped.limit) == ("too_long", "0.123457", "0.1")
    assert dropped.text_head == "x" * 200


@given(st.integers(0, 2**32), st.text(), st.text())
def test_a_draw_depends_only_on_seed_and_names(seed: int, first: str, second: str) -> None:
    assert hash64(seed, first, second) == hash64(seed, first, second)
    assert 0 <= fraction(seed, first, second) < 1
    assert 0 <= seed_for(seed, first) < 2**32


def test_names_are_not_run_together() -> None:
    assert hash64(1, "ab", "c") != hash64(1, "a", "bc")


def test_draws_are_uniform() -> None:
    draws = [fraction(7, index) for index in range(10_000)]
    assert abs(sum(draws) / len(draws) - 0.5) < 4 * (1 / 12 / 10_000) ** 0.5


def test_a_user_error_says_where_what_and_what_to_do() -> None:
    assert (
        str(InputError("source web", "no file matches", "check the path"))
        == "source web: no file matches; check the path"
    )
