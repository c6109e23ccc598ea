"""Two parts of a step that need not wait for each other."""

from __future__ import annotations

from collections.abc import Callable

import torch


def side_by_side(one: Callable[[], None], other: Callable[[], None], aside: torch.cuda.Stream | None) -> None:
    """Do two things of which neither reads what the other writes.

    While a graph is captured they become branches of it, ``one`` on the stream ``aside``, so that small kernels need no
    time of their own. Elsewhere one follows the other: what takes time there is to launch them.
    """
    if aside is None or not torch.cuda.is_current_stream_capturing():
        one()
        other()
        return
    main = torch.cuda.current_stream()
    aside.wait_stream(main)
    with torch.cuda.stream(aside):
        one()
    other()
    main.wait_stream(aside)
