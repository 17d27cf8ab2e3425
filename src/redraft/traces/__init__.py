"""Stored answers: written as they happen, read back whole, resumed, judged again, pruned."""

from redraft.traces.codec import Redact, to_plain
from redraft.traces.project_store import DEFAULT_PATH, open_store
from redraft.traces.recheck import Agreement, agreement, recheck
from redraft.traces.resume import recorded_calls, resume
from redraft.traces.store import TraceStore
from redraft.traces.trace import (
    Pruned,
    Recheck,
    Start,
    StoredCall,
    Trace,
    TraceFilter,
    TraceSummary,
)
from redraft.traces.writer import TraceWriter

__all__ = [
    "DEFAULT_PATH",
    "Agreement",
    "Pruned",
    "Recheck",
    "Redact",
    "Start",
    "StoredCall",
    "Trace",
    "TraceFilter",
    "TraceStore",
    "TraceSummary",
    "TraceWriter",
    "agreement",
    "open_store",
    "recheck",
    "recorded_calls",
    "resume",
    "to_plain",
]
