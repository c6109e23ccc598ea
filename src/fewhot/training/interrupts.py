"""Ctrl-C during a fit: the step at hand is finished, so that what it did can be kept."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Self


class Interrupts:
    """While open, the first Ctrl-C is noted in ``asked`` and a second one raises at once.

    Outside the main thread, or where the program has a handler of its own, nothing is changed.
    """

    def __init__(self) -> None:
        self.asked = False
        self._installed = False

    def __enter__(self) -> Self:
        ours_to_change = threading.current_thread() is threading.main_thread()
        if ours_to_change and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._installed = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._installed = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.default_int_handler(number, frame)
        self.asked = True
