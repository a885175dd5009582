"""Bytes to text, whatever charset they are in: no page is lost because its charset is wrong or unknown.

Order: byte order mark, UTF-8 if every byte fits, HTTP header, ``meta``, detection. UTF-8 comes before what is declared
because text in another charset is practically never valid UTF-8. A declared charset that nearly fits is
taken with its few broken bytes replaced. Labels mean what browsers take them for (``iso-8859-1`` is windows-1252).
"""

import codecs
import contextlib
import re

from charset_normalizer import from_bytes

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_BROWSER_LABELS = {
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "ks_c_5601-1987": "cp949",
    "big5": "big5hkscs",
}  # fmt: skip
_NO_CHARSETS = {"utf-7", "punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined"}
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_.:-]{2,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([a-zA-Z0-9_.:-]{2,40})", re.IGNORECASE)
_META_BYTES = 16384
_DETECTION_BYTES = 32768
_MAX_BROKEN_SHARE = 0.02
_REPLACEMENT = "\ufffd"
_LAST_RESORT = "cp1252"


def decode(content: bytes, declared: str = "", *, html: bool = True) -> str:
    """Return the text of ``content``; ``declared`` is the charset of the HTTP header. Nothing is ever raised."""
    for mark, name in _BOMS:
        if content.startswith(mark):
            return content[len(mark) :].decode(name, "replace")
    labels = [codec for label in (declared, _meta(content) if html else "") if (codec := _codec(label, content))]
    if not (labels and _passes_as_utf8(labels[0], content)):
        with contextlib.suppress(UnicodeDecodeError):  # not UTF-8: the declared charsets come next
            return content.decode()
    for codec in labels:
        text = content.decode(codec, "replace")
        if _broken_share(text) <= _MAX_BROKEN_SHARE:
            return text
    return _detected(content)


def _meta(content: bytes) -> str:
    head = content[:_META_BYTES]
    found = _XML.search(head) or _META.search(head)
    label = found[1].decode("ascii").lower() if found else ""
    return "utf-8" if label.startswith("utf-16") else label  # a meta that can be read is not in UTF-16


def _codec(label: str, content: bytes) -> str:
    """Return Python's name for a charset label as browsers take it; empty when unknown, or plainly not this one."""
    try:
        name = codecs.lookup(label.strip(" \t\"'")).name if label.isascii() and "\0" not in label else ""
        b"".decode(name or "ascii")
    except (LookupError, UnicodeError):
        return ""
    is_wide = name.startswith(("utf-16", "utf-32"))
    if name in _NO_CHARSETS or (is_wide and b"\0" not in content[:_META_BYTES]):
        return ""
    return _BROWSER_LABELS.get(name, name)


def _passes_as_utf8(codec: str, content: bytes) -> bool:
    """Tell whether bytes in ``codec`` are also valid UTF-8: seven-bit escapes and wide characters are."""
    return codec.startswith(("utf-16", "utf-32")) or (codec.startswith(("iso2022", "hz")) and content.isascii())


def _broken_share(text: str) -> float:
    """Return the share of replaced characters among those that are not ASCII."""
    broken = text.count(_REPLACEMENT)
    return broken / sum(not character.isascii() for character in text) if broken else 0.0


def _detected(content: bytes) -> str:
    mostly_utf8 = content.decode("utf-8", "replace")
    if _broken_share(mostly_utf8) <= _MAX_BROKEN_SHARE:
        return mostly_utf8
    best = from_bytes(re.sub(rb"<[^<>]*>", b" ", content)[:_DETECTION_BYTES]).best()
    return content.decode(best.encoding if best else _LAST_RESORT, "replace")
