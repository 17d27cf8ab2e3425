"""What an engine offers beside `Engine` where its calls are paid for."""

from abc import ABC, abstractmethod

from dspy.lm15 import Request, Response

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
