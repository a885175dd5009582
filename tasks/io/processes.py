"""What a process uses, as the kernel counts it; a process that is gone uses nothing."""

import os

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int | None) -> float:
    """Return user and system CPU seconds so far."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def resident_bytes(pid: int | None) -> int:
    """Return the memory that is in RAM."""
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE_BYTES if fields else 0


def mapped_bytes() -> int:
    """Return the size of this process's address space."""
    return int(_read("/proc/self/statm").split()[0]) * _PAGE_BYTES


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""
