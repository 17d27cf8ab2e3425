"""The project's own redaction of texts before they are stored."""

from redraft.errors import TraceError
from redraft.traces.codec import Redact


class Redactor:
    """Applies a redaction, and knows whether it ever changed anything.

    Args:
        redact: Given a text, returns what may be stored of it; None stores texts as they are.
    """

    def __init__(self, redact: Redact | None) -> None:
        self.has_changed = False
        self._redact = redact

    @property
    def applies(self) -> "Redactor | None":
        """Itself where there is something to apply, so that nothing is walked for nothing."""
        return None if self._redact is None else self

    def __call__(self, text: str) -> str:
        """Return what may be stored.

        Raises:
            TraceError: The redaction raised, or returned no text; nothing is stored then.
        """
        if self._redact is None:
            return text
        try:
            stored = self._redact(text)
        except Exception as error:
            raise TraceError(
                f"redact raised {type(error).__name__}: {error}; correct it, "
                "since a text is not stored unless it was redacted"
            ) from error
        if not isinstance(stored, str):
            raise TraceError(f"redact must return a text, got {type(stored).__name__}")
        self.has_changed = self.has_changed or stored != text
        return stored
