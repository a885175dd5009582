"""Which documents go: policies, cases of old, and independence of order."""

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs.base import ConfigFileError
from tasks.core.signatures import Shingles, SignatureTable
from tasks.dedup.stage import DedupConfig, find, shingles_in, sign

CASES = Path(__file__).parents[4] / "shared" / "cases"
START = datetime(2020, 1, 1, tzinfo=UTC)
DEFAULT = DedupConfig()
VOCABULARY = [f"{first}{second}" for first in "abcdefghijklmnop" for second in "aeiouy"]


def prose(seed: int, num_words: int) -> list[str]:
    return random.Random(seed).choices(VOCABULARY, k=num_words)


def numbers(parts: list[bytes], width: int) -> np.ndarray:
    return np.frombuffer(b"".join(parts), ">u8").reshape(-1, width).astype(np.uint64)


def removed(
    texts: Sequence[str],
    config: DedupConfig = DEFAULT,
    order: Sequence[int] | None = None,
    sources: Sequence[int] | None = None,
    snapshots: Sequence[int] | None = None,
) -> dict[int, tuple[int, float, bool]]:
    """Return number of each text that goes -> partner, similarity, exact; the first text is the oldest."""
    order = list(order or range(len(texts)))
    signed = [
        sign(number.to_bytes(16, "big"), START + timedelta(days=number), texts[number], config) for number in order
    ]

    def codes(given: Sequence[int] | None) -> np.ndarray:
        return np.array([given[number] if given else 0 for number in order], np.int64)

    table = SignatureTable(
        numbers([item.order_key for item in signed], 3),
        numbers([item.exact_hash for item in signed], 2),
        np.array([item.num_shingles for item in signed], np.int64),
        np.array([item.values for item in signed], np.uint32).reshape(-1, config.num_permutations),
        codes(sources),
        codes(snapshots),
    )

    def load(rows: np.ndarray) -> dict[int, Shingles]:
        return {row: shingles_in(texts[order[row]], config) for row in rows.tolist()}

    found = find(table, load, config)
    assert np.all(np.diff(found.rows) > 0)
    parts = zip(found.rows.tolist(), found.duplicate_of.tolist(), found.similarity, found.exact, strict=True)
    return {order[row]: (order[partner], float(level), bool(exact)) for row, partner, level, exact in parts}


def cases(case: str, file: str) -> dict[str, str]:
    path = CASES / case / file
    if not path.exists():
        pytest.skip("the shared cases are not here")
    return {row["id"]: row["text"] for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def test_an_exact_copy_goes_whatever_its_case_and_white_space() -> None:
    assert removed(["One short text.", "one  short\nTEXT.", "another short text."]) == {1: (0, 1.0, True)}


def test_r_3_1_12_the_same_first_100_characters_with_other_bodies_are_both_kept() -> None:
    head = " ".join(prose(0, 60))
    assert len(head) > 100
    assert removed([f"{head} {' '.join(prose(seed, 300))}" for seed in (1, 2)]) == {}


def test_r_3_1_13_a_text_that_differs_only_in_its_first_100_characters_goes() -> None:
    body = " ".join(prose(3, 600))
    texts = [f"{' '.join(prose(seed, 34))[:100]} {body}" for seed in (4, 5)]
    assert texts[0][:100] != texts[1][:100]
    found = removed(texts)
    assert list(found) == [1]
    assert found[1][1] > 0.85
    assert not found[1][2]


def test_of_a_chain_the_middle_goes_and_the_far_end_stays() -> None:
    words = prose(6, 480)
    texts = [" ".join(words[start : start + 400]) for start in (0, 32, 64)]  # about .85 next to each other, .72 ends
    found = removed(texts)
    assert list(found) == [1]
    assert found[1][0] == 0


def test_the_oldest_stays_and_undated_documents_are_the_youngest() -> None:
    dated = sign(b"z" * 16, START, "same text", DEFAULT)
    undated = sign(b"a" * 16, None, "same text", DEFAULT)
    assert dated.order_key < undated.order_key
    assert dated.exact_hash == undated.exact_hash


def test_a_copy_of_a_near_duplicate_points_to_the_document_that_is_kept() -> None:
    words = prose(7, 400)
    near = " ".join(["other", *words[1:]])
    found = removed([" ".join(words), near, near.upper(), " ".join(words)])
    assert {number: (partner, exact) for number, (partner, _, exact) in found.items()} == {
        1: (0, False), 2: (0, False), 3: (0, True)
    }  # fmt: skip
    assert found[1][1] == found[2][1]


def test_texts_without_words_are_compared_by_their_hash_only() -> None:
    assert removed(["", "…", "!!!", "…"]) == {3: (1, 1.0, True)}


def test_templated_documents_with_distinct_content_are_kept() -> None:
    scaffold = " ".join(prose(8, 60))
    half, rest = scaffold[: len(scaffold) // 2], scaffold[len(scaffold) // 2 :]
    texts = [f"{half} {' '.join(prose(100 + number, 50))} {rest}" for number in range(1000)]
    assert len(removed(texts)) < 50


@pytest.mark.parametrize(("scope", "gone"), [("global", {1, 2, 3}), ("source", {2, 3}), ("snapshot", {3})])
def test_only_documents_of_one_scope_are_compared(scope: str, gone: set[int]) -> None:
    config = DedupConfig.model_validate({"scope": scope})
    assert set(removed(["the same text"] * 4, config, sources=[0, 1, 0, 1], snapshots=[0, 0, 1, 0])) == gone


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.data())
def test_the_result_does_not_depend_on_the_order_of_the_input(source: random.Random, data: st.DataObject) -> None:
    base = prose(9, 60)
    texts = [
        " ".join(
            source.choice(VOCABULARY) if source.random() < 0.02 else word for word in base[: source.choice([30, 60])]
        )
        for _ in range(data.draw(st.integers(1, 25)))
    ]
    order = data.draw(st.permutations(range(len(texts))))
    assert removed(texts, order=order) == removed(texts)


@pytest.mark.parametrize(("threshold", "kept"), [(0.7, {"zh0"}), (0.8, {"zh0", "zh0near"})])
def test_b33_not_latin_texts_are_compared_by_what_they_say(threshold: float, kept: set[str]) -> None:
    rows = cases("B33", "nonlatin.jsonl")
    names = list(rows)
    config = DedupConfig(threshold=threshold, num_bands=28, rows_per_band=4)
    gone = {names[number]: names[partner] for number, (partner, _, _) in removed([*rows.values()], config).items()}
    assert gone["ar0copy"] == "ar0"
    assert {name for name in rows if name not in gone} == {"ar0", "ar1", "ar2", "zh1", "zh2"} | kept


def test_b39_an_older_reference_stays_whole_and_every_removed_row_names_its_partner() -> None:
    rows = cases("B39", "reference.jsonl") | cases("B39", "new.jsonl")
    names = list(rows)
    found = removed([*rows.values()])
    assert {names[number]: names[partner] for number, (partner, _, _) in found.items()} == {
        "n1": "r1", "n3": "r2", "n5": "n4"
    }  # fmt: skip


def test_b35_rows_whose_second_halves_are_unique_are_all_kept() -> None:
    assert removed([*cases("B35", "unique.jsonl").values()]) == {}


@pytest.mark.parametrize(
    ("similarity", "bands", "rows", "share"),
    [(0.7, 14, 8, 0.564504), (0.75, 14, 8, 0.771634), (0.8, 14, 8, 0.923548), (0.85, 14, 8, 0.988366),
     (0.5, 14, 8, 0.053320), (0.8, 26, 11, 0.903207), (0.8, 450, 20, 0.994583), (0.8, 60, 13, 0.966381)],
)  # fmt: skip
def test_c44_the_detected_share_is_that_of_the_formula(similarity: float, bands: int, rows: int, share: float) -> None:
    config = DedupConfig(num_bands=bands, rows_per_band=rows, threshold=0.9)
    assert config.detected_share(similarity) == pytest.approx(share, abs=5e-7)


def test_b41_bands_that_cannot_find_the_threshold_are_refused_with_their_share() -> None:
    with pytest.raises(
        ConfigFileError, match=r"13 bands of 60 rows would find 2e-05 of the pairs at the threshold 0.8"
    ):
        DedupConfig.checked({"num_bands": 13, "rows_per_band": 60, "threshold": 0.8}, where="x.yaml")


def test_a_signature_does_not_depend_on_what_only_decides() -> None:
    other = DedupConfig(threshold=0.9, scope="source", num_bands=16, rows_per_band=7)
    assert other.signature_settings() == DEFAULT.signature_settings()
    assert DedupConfig(shingle_words=6).signature_settings() != DEFAULT.signature_settings()
    assert DedupConfig(alarm_share=0.1).fingerprint() == DEFAULT.fingerprint()
