"""What a word is, once for all stages.

Property: a *word* is a run of letters, digits, underscores and combining marks; an apostrophe or a full stop between
them joins (``don't``, ``3.14``). In scripts written without spaces (Han, kana, Thai, Lao, Khmer, Burmese) each
character with its marks is a word. Punctuation and symbols are no words. Method: one compiled pattern over the
Unicode classes of this Python. Cost: about 10 MB of text per CPU second.
"""

import re
import unicodedata
from collections.abc import Iterable

_UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3041, 0x30FF), (0x31F0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F),
)  # fmt: skip
_BASIC_PLANE = 0x10000
_LATER_LETTERS = "\U00010000-\U0001cfff\U0001d400-\U0001d7ff\U0001e000-\U0001eeff"  # scripts, not emoji
_LATER_UNSPACED = "\U00020000-\U0003ffff"


def _class_of(codes: Iterable[int]) -> str:
    """Return the inside of a character class for sorted code points."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)


def _word_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of a word and of a character that is a word by itself."""
    marks = [code for code in range(_BASIC_PLANE) if unicodedata.category(chr(code)).startswith("M")]
    blocks = (code for first, last in _UNSPACED_BLOCKS for code in range(first, last + 1))
    alone = [code for code in blocks if chr(code).isalnum()]
    letters = {code for code in range(_BASIC_PLANE) if chr(code).isalnum()}.union(marks, [ord("_")]) - set(alone)
    letter = f"[{_class_of(sorted(letters))}{_LATER_LETTERS}]"
    character = f"[{_class_of(alone)}{_LATER_UNSPACED}]"
    word = f"{letter}+(?:['\u2019.]{letter}+)*|{character}[{_class_of(marks)}]*"
    return re.compile(word), re.compile(character)


_WORD, _UNSPACED_CHARACTER = _word_patterns()
_ASCII_WORD = re.compile(r"[A-Za-z0-9_]+(?:['.][A-Za-z0-9_]+)*")


def split_words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text)


def is_unspaced(text: str) -> bool:
    """Tell whether more than half of a text's non-space characters are of scripts written without spaces."""
    if text.isascii():
        return False
    return 2 * len(_UNSPACED_CHARACTER.findall(text)) > len("".join(text.split()))
