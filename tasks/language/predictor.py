"""The fastText language model as a predictor of one label and its score, loaded once per process and file.

The one way into the model: for the call only, line ends become spaces, shouted text becomes lower-case, and lone
surrogates are replaced; the line end that the model counts as a word is always added. fastText holds the GIL: use
processes. Cost: about 0.4 ms per document of 3,600 bytes.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import fasttext

from tasks.core.document import Document, Dropped
from tasks.core.errors import InputError
from tasks.language.stage import UNDETERMINED, LanguageConfig, Predict, identify

_LABEL = "__label__"
_SPACES = re.compile(r"[\s\x00]+")
_MOSTLY = 0.5


def identify_with_model(
    documents: Iterable[Document], *, config: LanguageConfig, languages: tuple[str, ...], model_path: str
) -> Iterator[Document | Dropped]:
    """Identify languages with the model at ``model_path``."""
    return identify(documents, config=config, languages=languages, predict=predictor(model_path))


@lru_cache(maxsize=2)
def predictor(model_path: str) -> Predict:
    """Load a fastText model.

    Raises:
        InputError: the file is no fastText model.
    """
    try:
        model: Any = fasttext.load_model(model_path)
    except (ValueError, RuntimeError) as error:
        raise InputError(
            f"language model {model_path}", f"cannot be loaded ({error})", "give a fastText file"
        ) from error

    def predict(text: str) -> tuple[str, float]:
        labels, scores = model.predict(normalised(text))
        return (labels[0].removeprefix(_LABEL), float(scores[0])) if labels else (UNDETERMINED, 0.0)

    return predict


def normalised(text: str) -> str:
    """Return a text as the model sees it: one line, valid UTF-8, and not shouted."""
    line = _SPACES.sub(" ", text).strip()
    upper = sum(map(str.isupper, line))
    if upper > _MOSTLY * (upper + sum(map(str.islower, line))):
        line = line.lower()
    return line if line.isascii() else line.encode("utf-8", "replace").decode()
