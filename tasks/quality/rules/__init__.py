"""One file per filter; add one here and nowhere else. Importing this package registers them all, by name."""

import importlib
import pkgutil

from tasks.quality.base import REGISTRY

__all__ = ["REGISTRY"]

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
