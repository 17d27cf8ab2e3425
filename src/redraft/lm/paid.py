"""What an engine offers beside `Engine` where its calls are paid for."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from dspy.lm15 import LM15Error, Request, Response

from redraft.lm.bounds import Bound
from redraft.lm.prices import Prices


class PaidEngine(ABC):
    """The base of an `Engine` that knows its prices and limits; the pipeline asks it for them.

    Only `count_request` and `verify` may reach the provider, and only they may raise.

    Attributes:
        prices: What its tokens cost; None where that is not known, so that a cap in dollars is
            refused.
    """

    prices: Prices | None

    @abstractmethod
    def bound(self, request: Request) -> Bound:
        """Return the most tokens that a request and its reply can have."""

    @abstractmethod
    def longer(self, request: Request, response: Response) -> Request | None:
        """Return the request that may get a cut reply whole, or None where none would.

        It is asked once for each call, is reserved like any other try, and is not made where the
        budget has no room for it.
        """

    @abstractmethod
    def count_request(self, request: Request) -> int | None:
        """Return the tokens of a prompt, counted by the provider; it costs nothing.

        None where there is no key to ask with.

        Raises:
            LM15Error: The provider refused or failed.
            ModelError: Key or model were refused.
        """

    @abstractmethod
    def verify(self) -> None:
        """Ask the provider whether key and model are accepted; it costs nothing.

        Raises:
            ModelError: They are not.
        """


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is.

    Attributes:
        ended: Whether every request of it has its outcome.
        done: Requests that have one; some providers tell only at the end.
        total: Requests in it.
    """

    ended: bool
    done: int
    total: int


class BatchEngine(PaidEngine):
    """A paid engine whose provider also takes many requests at once and answers them later."""

    @property
    @abstractmethod
    def takes_batches(self) -> bool:
        """Whether it does so where this engine asks; a cloud need not."""

    @abstractmethod
    def submit(self, requests: Mapping[str, Request]) -> str:
        """Hand in requests and return the id of their batch.

        Args:
            requests: By an id of at most 64 letters, digits, `_` and `-`.

        Raises:
            LM15Error: The provider refused or failed; after a failure it may have taken them.
            ModelError: Key or model were refused.
        """

    @abstractmethod
    def state(self, batch_id: str) -> BatchState | None:
        """Return how far a batch is; None for one that the provider does not have any more.

        Raises:
            LM15Error: The provider failed.
            ModelError: The key was refused.
        """

    @abstractmethod
    def results(
        self, batch_id: str, requests: Mapping[str, Request]
    ) -> dict[str, Response | LM15Error]:
        """Return what came of those requests of a batch that ended; a failure cost nothing.

        Raises:
            LM15Error: The provider failed.
            ModelError: The key was refused.
        """
