"""Byte-level BPE: train on a sample, encode documents, end each with EOS.

Property: the same texts in the same order give the same tokenizer, byte for byte, with any number of threads.
Control-token strings in a text stay text: ``<|endoftext|>`` on a web page becomes its letters, never the id.
Cost: training is linear in the sample; encoding is about a million tokens per CPU second.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import Field
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from configs.base import Config, execution_field
from tasks.core.errors import InputError
from tasks.core.seeds import hash64

VERSION = 1
EOS = "<|endoftext|>"
PAD = "<|pad|>"
_EOS_NAMES = (EOS, "</s>", "<|end_of_text|>", "<eos>", "<|eos|>")
_PAD_NAMES = (PAD, "<pad>", "<|finetune_right_pad_id|>", "<unk>")


class TokenizerConfig(Config):
    """Train a byte-level BPE on the mix, or load a named tokenizer."""

    path: str = Field("", description="Folder with tokenizer.json, or a hub id; empty: train one on the mix.")
    vocab_size: int = Field(
        8192, ge=512, le=1_000_000, description="Vocabulary of a trained tokenizer, specials included."
    )
    training_bytes: int = Field(20_000_000, ge=1000, description="Text to train on, shared out by the mix weights.")
    batch_documents: int = execution_field(500, ge=1, description="Documents encoded at once.")


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Ids that the packer and the model need."""

    eos: int
    pad: int


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> str:
    """Train a byte-level BPE and return it as tokenizer.json text.

    Any UTF-8 text can be encoded and decoded back exactly, because all 256 bytes are in the alphabet.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[EOS, PAD],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return str(tokenizer.to_str(pretty=True))


def load_tokenizer(text: str) -> Tokenizer:
    """Build a tokenizer from tokenizer.json text, so that control-token strings are encoded as text."""
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def special_tokens(tokenizer: Tokenizer, origin: str) -> SpecialTokens:
    """Find the end-of-document and padding ids.

    Raises:
        InputError: the tokenizer has no known end-of-document token.
    """
    eos = _first_id(tokenizer, _EOS_NAMES)
    if eos is None:
        raise InputError(
            f"tokenizer {origin}", f"no end-of-document token, looked for {', '.join(_EOS_NAMES)}", "add one"
        )
    pad = _first_id(tokenizer, _PAD_NAMES)
    return SpecialTokens(eos, eos if pad is None else pad)


def encode(tokenizer: Tokenizer, texts: Sequence[str], eos: int) -> list[list[int]]:
    """Encode each text and end it with EOS; nothing else is added (R-3.2-3: nothing is cut either)."""
    return [[*item.ids, eos] for item in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


@lru_cache(maxsize=2)
def _loaded(text: str) -> Tokenizer:
    return load_tokenizer(text)


def encode_with(text: str, eos: int, texts: Sequence[str]) -> list[list[int]]:
    """:func:`encode` with a tokenizer.json text, which a worker process loads once."""
    return encode(_loaded(text), texts, eos)


def sample_order(seed: int, source: str, doc_id: bytes) -> int:
    """Return a document's place in its source's training sample for the tokenizer."""
    return hash64(seed, "tokenizer", source, doc_id)


def vocabulary_size(tokenizer: Tokenizer) -> int:
    """Return the number of rows an embedding needs: the largest id, added tokens included, plus one."""
    return 1 + max(tokenizer.get_vocab(with_added_tokens=True).values())


def huggingface_files(text: str, tokens: SpecialTokens, sequence_length: int) -> dict[str, str]:
    """Return the files that ``AutoTokenizer.from_pretrained`` reads: name -> content."""
    tokenizer = Tokenizer.from_str(text)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": sequence_length,
        "eos_token": tokenizer.id_to_token(tokens.eos),
        "pad_token": tokenizer.id_to_token(tokens.pad),
        "clean_up_tokenization_spaces": False,
    }
    return {"tokenizer.json": text, "tokenizer_config.json": json.dumps(config, indent=2, sort_keys=True) + "\n"}


def _first_id(tokenizer: Tokenizer, names: Sequence[str]) -> int | None:
    found = (tokenizer.token_to_id(name) for name in names)
    return next((item for item in found if item is not None), None)
