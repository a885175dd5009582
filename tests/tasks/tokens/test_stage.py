"""The tokenizer: exact, deterministic, blind to control strings in texts."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.errors import InputError
from tasks.tokens.stage import (
    EOS,
    PAD,
    SpecialTokens,
    encode,
    huggingface_files,
    load_tokenizer,
    special_tokens,
    train_tokenizer,
    vocabulary_size,
)

TEXTS = [f"The harbour of town {index} has {index * 7} boats, and the baker counts them all." for index in range(300)]
TRAINED = train_tokenizer(TEXTS, 600)
TOKENIZER = load_tokenizer(TRAINED)
SPECIAL = special_tokens(TOKENIZER, "test")


@given(st.text())
def test_any_text_is_encoded_and_decoded_back_exactly(text: str) -> None:
    encodable = text.encode("utf-8", "ignore").decode()
    (ids,) = encode(TOKENIZER, [encodable], SPECIAL.eos)
    assert TOKENIZER.decode(ids[:-1], skip_special_tokens=False) == encodable


def test_control_token_strings_in_a_text_stay_text() -> None:
    (ids,) = encode(TOKENIZER, [f"a page that says {EOS} and {PAD} in the middle"], SPECIAL.eos)
    assert ids.count(SPECIAL.eos) == 1
    assert ids[-1] == SPECIAL.eos
    assert SPECIAL.pad not in ids


def test_every_document_ends_with_exactly_one_eos_even_an_empty_one() -> None:
    assert [ids.count(SPECIAL.eos) for ids in encode(TOKENIZER, ["", "x", "y z"], SPECIAL.eos)] == [1, 1, 1]


def test_specials_are_distinct_and_the_vocabulary_is_as_asked() -> None:
    assert (SPECIAL.eos, SPECIAL.pad) == (0, 1)
    assert vocabulary_size(TOKENIZER) == 600


def test_training_is_the_same_with_one_thread_and_with_many() -> None:
    code = """
import hashlib, sys
from tasks.tokens.stage import train_tokenizer
texts = [f"The harbour of town {number} has {number * 7} boats, and the baker counts them." for number in range(300)]
print(hashlib.sha256(train_tokenizer(texts, 600).encode()).hexdigest())
"""
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "4")
    }
    assert len(hashes) == 1
    assert len(hashes.pop().strip()) == 64


def test_a_tokenizer_without_an_end_token_is_refused() -> None:
    from tokenizers import Tokenizer, models

    with pytest.raises(InputError, match="no end-of-document token"):
        special_tokens(Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), "mine")  # noqa: S106


def test_the_saved_files_load_as_a_hugging_face_tokenizer(tmp_path: object) -> None:
    from pathlib import Path

    from transformers import AutoTokenizer

    folder = Path(str(tmp_path))
    for name, content in huggingface_files(TRAINED, SpecialTokens(0, 1), 128).items():
        (folder / name).write_text(content)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = TEXTS[3]
    assert tokenizer(text)["input_ids"] == encode(TOKENIZER, [text], 0)[0][:-1]
    assert (tokenizer.eos_token_id, tokenizer.pad_token_id) == (0, 1)
