"""A model as the rest of the code sees it, and the record of the models of all roles."""

from dataclasses import dataclass
from typing import Any

from dspy.clients.lm import LM
from dspy.lm15 import LM15Error, Request, Response

from redraft.budget import Meter
from redraft.errors import ModelError
from redraft.lm.bounds import Bound, TokenCount, estimated_tokens, likely_tokens, text_bound
from redraft.lm.cache import ReplyStore
from redraft.lm.engine import Engine
from redraft.lm.pace import Pace
from redraft.lm.paid import PaidEngine
from redraft.lm.pipeline import Pipeline, unknown_price
from redraft.lm.prices import Prices
from redraft.lm.retry import Retry
from redraft.records import Role


class Model:
    """One engine with its retries and its recorded replies; safe under threads and tasks.

    Args:
        engine: Answers; the model closes it.
        retry: Which failures are tried again.
        store: Recorded replies that may be reused; None to ask the engine every time.
        pace: Rates that its requests stay below; None for none.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        retry: Retry | None = None,
        store: ReplyStore | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._engine = engine
        self._retry = retry or Retry()
        self._store = store
        self._pace = pace

    def __repr__(self) -> str:
        return f"Model({self.name!r})"

    @property
    def name(self) -> str:
        """The model as the user named it."""
        return self._engine.name

    @property
    def engine(self) -> Engine:
        """What answers, without retries and recorded replies."""
        return self._engine

    @property
    def retry(self) -> Retry:
        """Which failures are tried again."""
        return self._retry

    def behind(self, engine: Engine) -> "Model":
        """Return a model of another engine that shares the recorded replies and tries once."""
        return Model(engine, retry=Retry(tries=1), store=self._store)

    @property
    def fingerprint(self) -> str:
        """Changes when equal requests may get other replies."""
        return self._engine.fingerprint

    @property
    def context_tokens(self) -> int | None:
        """Tokens that prompt and reply may have together; None when unknown."""
        return self._engine.context_tokens

    @property
    def parallel(self) -> int:
        """Requests that are worth having in flight at once; 1 or more."""
        return self._engine.parallel

    @property
    def cost(self) -> float | None:
        """Dollars per call: 0.0 where every call is free, None where that is unknown."""
        return self._engine.cost_usd

    @property
    def prices(self) -> Prices | None:
        """What its tokens cost; None where every call is free, and where it is not known."""
        return self._engine.prices if isinstance(self._engine, PaidEngine) else None

    @property
    def is_priced(self) -> bool:
        """Whether it is known what a call costs, so that a cap in dollars can be kept."""
        return self.prices is not None or self.cost is not None

    def verify(self) -> None:
        """Ask the provider whether key and model are accepted, where asking costs nothing.

        Raises:
            ModelError: They are not.
        """
        if isinstance(self._engine, PaidEngine):
            self._engine.verify()

    def count_tokens(self, text: str) -> int | None:
        """Return how many tokens `text` has as data; None where only the provider knows."""
        return self._engine.count_tokens(text)

    def bound(self, request: Request) -> Bound:
        """Return the most tokens that a request and its reply can have."""
        if isinstance(self._engine, PaidEngine):
            return self._engine.bound(request)
        return text_bound(self._engine, request)

    def count_request(self, request: Request) -> TokenCount:
        """Return the tokens of a request's prompt: counted where that is free, else estimated.

        Raises:
            ModelError: Key or model were refused.
        """
        counted = self._counted(request)
        if counted is None:
            return estimated_tokens(self._engine, request)
        return TokenCount(counted, is_exact=True)

    def likely_tokens(self, text: str) -> int:
        """Return how many tokens `text` has: counted by the model itself, else estimated."""
        return likely_tokens(self._engine, text)

    def lm(self, meter: Meter, *, replicate: int = 0) -> LM:
        """Return the model for DSPy, reserving and recording in `meter`.

        Making one is cheap: make one per meter and keep none.

        Args:
            meter: The meter of the answer or the command that pays.
            replicate: Number of the repetition, from 0: each has its own recorded replies.
        """
        pipeline = Pipeline(
            engine=self._engine,
            meter=meter,
            retry=self._retry,
            store=self._store,
            replicate=replicate,
            pace=self._pace,
        )
        return LM(
            self.name,
            engine=_SyncDoor(pipeline),
            async_engine=_AsyncDoor(pipeline),
            cache=False,
            num_retries=0,
        )

    def close(self) -> None:
        """Free what engine and store hold; calling it twice does no harm."""
        self._engine.close()
        if self._store is not None:
            self._store.close()

    def _counted(self, request: Request) -> int | None:
        if not isinstance(self._engine, PaidEngine):
            return None
        try:
            return self._engine.count_request(request)
        except LM15Error:
            # An estimate must not hang on a provider that is out of reach just now.
            return None


@dataclass(frozen=True)
class Models:
    """The model of each role; copying it, however deep, gives the same record.

    DSPy copies programs freely and would otherwise copy engines with them.

    Attributes:
        drafter: Writes drafts.
        checker: Judges drafts by the program's criteria.
        reviser: Writes revised drafts; the drafter where it is None.
        proposer: Proposes instructions while compiling.
        judge: Judges the rubric's judged measures.
    """

    drafter: Model | None = None
    checker: Model | None = None
    reviser: Model | None = None
    proposer: Model | None = None
    judge: Model | None = None

    def __copy__(self) -> "Models":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Models":
        return self

    def of(self, role: Role) -> Model:
        """Return the model of a role.

        Raises:
            ModelError: No model is named for it.
        """
        model = self._by_role()[role]
        if model is None:
            raise ModelError(
                f"no model is named for the {role}; name one with --{role}-lm, "
                f"or {role}_lm under [tool.redraft] in pyproject.toml",
                model="",
            )
        return model

    def names(self) -> dict[Role, str]:
        """Return the names of the models, by role; roles without one are left out."""
        return {role: model.name for role, model in self._by_role().items() if model is not None}

    def verify(self) -> None:
        """Ask the providers whether keys and models are accepted, before any work begins.

        Raises:
            ModelError: One is not.
        """
        for model in self._distinct():
            model.verify()

    def require_prices(self) -> None:
        """Refuse a cap in dollars where nobody knows what a call costs.

        Raises:
            ModelError: The price of a model is not known.
        """
        for model in self._distinct():
            if not model.is_priced:
                raise unknown_price(model.name)

    def close(self) -> None:
        """Close every model; calling it twice does no harm."""
        for model in self._distinct():
            model.close()

    def _distinct(self) -> list["Model"]:
        models = [model for model in self._by_role().values() if model is not None]
        return list({id(model): model for model in models}.values())

    def _by_role(self) -> dict[Role, Model | None]:
        return {
            "drafter": self.drafter,
            "checker": self.checker,
            "reviser": self.reviser or self.drafter,
            "proposer": self.proposer,
            "judge": self.judge,
        }


class _Door:
    """What DSPy reads from an engine, whichever way it calls it."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    @property
    def supports_response_schema(self) -> bool:
        return self._pipeline.engine.supports_response_schema

    @property
    def supported_params(self) -> frozenset[str]:
        return self._pipeline.engine.supported_params


class _SyncDoor(_Door):
    def complete(self, request: Request) -> Response:
        return self._pipeline.complete(request)


class _AsyncDoor(_Door):
    async def complete(self, request: Request) -> Response:
        return await self._pipeline.acomplete(request)
