"""An event loop for every thread."""

import asyncio
import threading
from concurrent.futures import CancelledError

import pytest

from redraft.lm.background import BackgroundLoop


async def here() -> str:
    """Return the name of the thread that runs this."""
    return threading.current_thread().name


def test_work_runs_in_one_thread() -> None:
    """Whoever hands it in."""
    work = BackgroundLoop()

    names = {work.submit(here()).result(), work.submit(here()).result()}
    work.close()

    assert names == {"redraft-models"}


def test_cancelling_reaches_the_work() -> None:
    """What it waited for ends with it."""
    work, ended = BackgroundLoop(), threading.Event()

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    future = work.submit(wait())
    work.submit(here()).result()
    future.cancel()

    assert ended.wait(2)
    work.close()


def test_closing_cancels_what_runs_and_then_does_the_last_work() -> None:
    """In this order."""
    work, order = BackgroundLoop(), list[str]()

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            order.append("cancelled")

    async def last() -> None:
        order.append("last")

    future = work.submit(wait())
    work.submit(here()).result()
    work.close(last())

    assert order == ["cancelled", "last"]
    with pytest.raises(CancelledError):
        future.result()


def test_closing_what_was_never_used_does_nothing() -> None:
    """Nor does closing it again; the last work is not done."""
    work, done = BackgroundLoop(), list[int]()

    async def last() -> None:
        done.append(1)

    work.close(last())
    work.close()

    assert done == []
