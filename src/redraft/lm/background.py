"""An event loop in a thread of its own, so that one pool of connections serves every caller."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for any thread and any other event loop; its thread starts on first use.

    Cancelling a returned future cancels the coroutine, and with it what it waits for.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine and return the future of its result."""
        with self._lock:
            loop = self._running()
            return asyncio.run_coroutine_threadsafe(work, loop)

    def close(self, last: Coroutine[Any, Any, None] | None = None) -> None:
        """End the loop; calling it twice does no harm, and a later `submit` starts a new one.

        Args:
            last: Work that ends what belongs to the loop; it runs after all other work was
                cancelled, and is dropped where the loop was never started.
        """
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            if last is not None:
                last.close()
            return
        asyncio.run_coroutine_threadsafe(_wind_up(last), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            # A daemon: a program that forgets to close must still be able to end.
            self._thread = threading.Thread(
                target=_run, args=(self._loop,), name="redraft-models", daemon=True
            )
            self._thread.start()
        return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _wind_up(last: Coroutine[Any, Any, None] | None) -> None:
    """Cancel what still runs, wait for it to end, then do the last work."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    if last is not None:
        await last
