"""Values as they stand in foreign files, made into ours; what cannot be read becomes None or empty text."""

import re
from datetime import UTC, datetime

MAX_CONTENT_BYTES = 64 << 20
"""Longer content is cut one byte beyond this, which the extraction limit always refuses."""

_SURROGATES = re.compile("[\ud800-\udfff]")


def utc_time(value: object) -> datetime | None:
    """Return a time in UTC from ISO 8601 text, a date-time or seconds since 1970; no zone means UTC."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value, UTC)
        if not isinstance(value, datetime):
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def plain_text(value: object) -> str:
    """Return text (lone surrogates replaced) or the digits of a whole number; anything else is empty."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATES.sub("\ufffd", value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
