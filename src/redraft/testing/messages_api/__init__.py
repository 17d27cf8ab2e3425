"""A strict stand-in for the Messages API on this machine: for tests of programs that ask Claude."""

from redraft.testing.messages_api.faults import Fault
from redraft.testing.messages_api.records import ApiRequest
from redraft.testing.messages_api.replies import ApiReply
from redraft.testing.messages_api.server import MessagesApi

__all__ = ["ApiReply", "ApiRequest", "Fault", "MessagesApi"]
