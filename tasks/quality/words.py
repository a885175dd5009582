"""A text as quality filters see it: words, lines, paragraphs, sentences and repeated n-grams, each computed once.

Definitions. Words: :mod:`tasks.core.words`. Lines: split at newlines, stripped, blank ones left out. Paragraphs: split
at blank lines. Sentences: counted by their end marks, which need white space or the end behind them unless the
script has no spaces. N-grams: runs of equal words, case kept. Method: words become integers; a repeated (n+1)-gram
consists of two repeated n-grams, so each length looks only at what was left of the length before. Cost: linear in
the words, plus a sort of the repeated ones per length.
"""

import re
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.core.words import split_words

END_MARKS = ".!?…。！？؟۔।॥።։"  # noqa: RUF001 - full-width marks are meant
CLOSING_QUOTES = "\"'”’»›」』）"  # noqa: RUF001
_UNSPACED_MARKS = "。！？"  # noqa: RUF001
_SENTENCE_END = re.compile(rf"[{END_MARKS}]+[{CLOSING_QUOTES})\]]*(?=\s|$)|[{_UNSPACED_MARKS}]+")
_BLANK_LINES = re.compile(r"\n\s*\n")

Integers = NDArray[np.int64]


def ratio(part: float, whole: float) -> float:
    """Return part / whole, and 0 of nothing."""
    return part / whole if whole else 0.0


def repeated(items: list[str]) -> tuple[int, int]:
    """Return how many items were seen before, and their characters: extra occurrences only."""
    seen: set[str] = set()
    count = characters = 0
    for item in items:
        if item in seen:
            count += 1
            characters += len(item)
        seen.add(item)
    return count, characters


class TextView:
    """One document's text, with everything that filters measure on computed at most once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._slots: list[Integers] = []

    @cached_property
    def words(self) -> list[str]:
        """All words in order."""
        return split_words(self.text)

    @cached_property
    def distinct_words(self) -> dict[str, int]:
        """Each distinct word and its number, in order of appearance."""
        return {word: number for number, word in enumerate(dict.fromkeys(self.words))}

    @cached_property
    def lines(self) -> list[str]:
        """Lines that are not blank, stripped."""
        return [line for line in map(str.strip, self.text.split("\n")) if line]

    @cached_property
    def paragraphs(self) -> list[str]:
        """Paragraphs that are not blank, stripped."""
        return [part for part in map(str.strip, _BLANK_LINES.split(self.text)) if part]

    @cached_property
    def num_sentences(self) -> int:
        """How many sentences end in the text."""
        return len(_SENTENCE_END.findall(self.text))

    @cached_property
    def repeated_lines(self) -> tuple[int, int]:
        """Lines seen before in this text: how many, and their characters."""
        return repeated(self.lines)

    @cached_property
    def word_lengths(self) -> Integers:
        """Characters of each word."""
        return np.fromiter(map(len, self.words), np.int64, len(self.words))

    @cached_property
    def word_ids(self) -> Integers:
        """The number of each word: equal words have equal numbers."""
        numbers = self.distinct_words
        return np.fromiter(map(numbers.__getitem__, self.words), np.int64, len(self.words))

    @cached_property
    def _ends(self) -> Integers:
        """Characters in the words before each position, so that any run's length is one subtraction."""
        ends = np.zeros(len(self.words) + 1, np.int64)
        np.cumsum(self.word_lengths, out=ends[1:])
        return ends

    def top_ngram_characters(self, n: int) -> int:
        """Return the characters of the most frequent n-gram, spaces included, times its occurrences.

        Of equally frequent ones the first counts. An n-gram that occurs once is not repeated and counts 0.
        """
        slots = self._repeated_ngrams(n)
        ids = slots[slots >= 0]
        if not len(ids):
            return 0
        counts = np.bincount(ids)
        start = int(np.flatnonzero(slots >= 0)[np.argmax(counts[ids] == counts.max())])
        return int((self._ends[start + n] - self._ends[start] + n - 1) * counts.max())

    def duplicate_ngram_characters(self, n: int) -> int:
        """Return the characters, spaces left out, of n-grams seen before: extra occurrences only.

        Read from left to right; after a repeated n-gram reading goes on behind it.
        """
        slots = self._repeated_ngrams(n)
        positions = np.flatnonzero(slots >= 0)
        seen: set[int] = set()
        total = free_from = 0
        for position, ngram in zip(positions.tolist(), slots[positions].tolist(), strict=True):
            if position < free_from:
                continue
            if ngram in seen:
                total += int(self._ends[position + n] - self._ends[position])
                free_from = position + n
            seen.add(ngram)
        return total

    def _repeated_ngrams(self, n: int) -> Integers:
        """Return, for each start, the number of its n-gram when that occurs again, else -1."""
        while len(self._slots) < n:
            self._slots.append(_kept_repeats(*self._next_ngrams(), size=len(self.words)))
        return self._slots[n - 1]

    def _next_ngrams(self) -> tuple[Integers, Integers]:
        """Return starts and keys of the n-grams, one longer than the last ones, that can be repeated."""
        if not self._slots:
            return np.arange(len(self.words)), self.word_ids
        slots = self._slots[-1]
        starts = np.flatnonzero((slots[:-1] >= 0) & (slots[1:] >= 0))
        return starts, slots[starts] * len(self.words) + slots[starts + 1]


def _kept_repeats(starts: Integers, keys: Integers, size: int) -> Integers:
    slots: NDArray[Any] = np.full(size, -1, np.int64)
    if len(keys):
        _, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
        again = counts[numbers] > 1
        slots[starts[again]] = numbers[again]
    return slots
