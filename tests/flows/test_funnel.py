"""The funnel adds up, telescopes, and names what went wrong."""

import pytest

from flows.funnel import check_none_is_empty, funnel_of, funnel_table, reasons_text
from tasks.core.counts import Counts
from tasks.core.errors import InputError
from tasks.io.documents import StageOutput


def output(stage: str, source: str, seen: int, kept: int, **dropped: int) -> StageOutput:
    counts = Counts(seen=seen, kept=kept, dropped=dropped, bytes_kept=kept * 1_000_000)
    return StageOutput(stage, source, "x", "f" * 64, "i" * 64, counts, reused=False)


def test_inputs_add_up_per_source_and_stage_and_stages_come_in_order() -> None:
    outputs = [
        output("quality", "web", 5, 4, too_short=1), output("extract", "web", 3, 2, empty_page=1),
        output("extract", "web", 4, 3, timeout=1),
    ]  # fmt: skip
    dedup, mix = {"web": Counts(seen=4, kept=3, dropped={"near": 1})}, {"web": Counts(seen=3, kept=3)}
    funnel = funnel_of(outputs, dedup, mix)
    assert list(funnel["web"]) == ["extract", "quality", "dedup", "mix"]
    assert funnel["web"]["extract"].dropped == {"empty_page": 1, "timeout": 1}
    assert [(row["seen"], row["kept"], row["dropped"]) for row in funnel_table(funnel)] == [
        (7, 5, 2), (5, 4, 1), (4, 3, 1), (3, 3, 0),
    ]  # fmt: skip


def test_documents_that_get_lost_between_stages_are_a_bug_that_stops_the_flow() -> None:
    with pytest.raises(ValueError, match="web: extract kept 5, but quality saw 4"):
        funnel_of([output("extract", "web", 5, 5), output("quality", "web", 4, 4)], {}, {})


def test_a_source_without_documents_is_named_with_where_they_went() -> None:
    outputs = [output("extract", "web", 3, 1, empty_page=2), output("safety", "web", 1, 0, licence_unknown=1)]
    check_none_is_empty(outputs[:1])
    with pytest.raises(InputError) as caught:
        check_none_is_empty([*outputs, output("extract", "code", 1, 1)])
    assert "source web: no document is left: extract kept 1 of 3 (empty_page 2); safety kept 0 of 1" in str(
        caught.value
    )


def test_the_most_frequent_reasons_come_first_and_the_rest_is_counted() -> None:
    counts = Counts(seen=15, kept=0, dropped={"a": 1, "b": 5, "c": 2, "d": 4, "e": 3})
    assert reasons_text(counts, most=3) == "b 5, d 4, e 3, 2 more"
