"""Which store: the config's, else GLASSWORKS_STORE, else ./store."""

import os
from pathlib import Path

from tasks.io.store import Store

DEFAULT_STORE = "store"


def store_url(configured: str = "") -> str:
    """Return the store's root as an absolute path or URL."""
    url = configured or os.environ.get("GLASSWORKS_STORE") or DEFAULT_STORE
    return url if "://" in url else str(Path(url).expanduser().resolve())


def open_store(configured: str = "") -> Store:
    """Open the store; its root appears with the first write."""
    return Store(store_url(configured))
