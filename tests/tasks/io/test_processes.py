"""Figures of processes."""

import os
import time

from tasks.io.processes import cpu_seconds, mapped_bytes, resident_bytes


def test_cpu_seconds_are_those_of_the_process() -> None:
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert abs(cpu_seconds(os.getpid()) - time.process_time()) < 0.05


def test_memory_that_is_filled_is_counted() -> None:
    mapped, resident = mapped_bytes(), resident_bytes(os.getpid())
    filled = bytearray(b"x") * (64 << 20)
    assert mapped_bytes() - mapped >= 60 << 20
    assert resident_bytes(os.getpid()) - resident >= 60 << 20
    assert len(filled) == 64 << 20


def test_a_process_that_is_gone_uses_nothing() -> None:
    assert (cpu_seconds(2**30), resident_bytes(2**30)) == (0.0, 0)
