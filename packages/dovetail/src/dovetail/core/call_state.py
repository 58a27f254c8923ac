"""The states of a call as a table: what may happen to it, and the state that it has then.

    begun     the author's function starts
    left      it has returned or raised; middleware may still work on the answer, or start it again
    stopped   a timeout or the end of its task stops it; its error is still delivered
    withdrawn the client has cancelled it, or its connection has ended: no answer is delivered,
              or one that was made elsewhere
    answered  its answer is ready

    state        begun       left       stopped    withdrawn   answered
    NEW          RUNNING     NEW        STOPPED    CANCELLED   ANSWERED
    RUNNING      RUNNING     NEW        STOPPING   CANCELLING  ANSWERED
    STOPPING     STOPPING    STOPPED    STOPPING   CANCELLING  CANCELLED
    STOPPED      STOPPING    STOPPED    STOPPED    CANCELLED   CANCELLED
    CANCELLING   CANCELLING  CANCELLED  CANCELLING CANCELLING  CANCELLED
    CANCELLED    CANCELLING  CANCELLED  CANCELLED  CANCELLED   CANCELLED
    ANSWERED     ANSWERED    ANSWERED   ANSWERED   ANSWERED    ANSWERED

A transition is `call.phase = call.phase.begun`. Nothing else changes a call's phase.
"""

from __future__ import annotations

__all__ = ["ANSWERED", "NEW", "RUNNING", "STOPPED", "CallState"]


class CallState:
    """A row of the table."""

    __slots__ = (
        "answered",
        "begun",
        "is_cancelled",
        "is_open",
        "is_running",
        "is_withdrawn",
        "left",
        "name",
        "stopped",
        "withdrawn",
    )

    begun: CallState
    left: CallState
    stopped: CallState
    withdrawn: CallState
    answered: CallState

    def __init__(
        self,
        name: str,
        *,
        running: bool = False,
        cancelled: bool = False,
        withdrawn: bool = False,
        is_open: bool = False,
    ) -> None:
        self.name: str = name
        # The author's function runs.
        self.is_running: bool = running
        # The function should stop: its value is not used.
        self.is_cancelled: bool = cancelled
        # The answer of the function is not needed.
        self.is_withdrawn: bool = withdrawn
        # Notifications and questions that belong to the call may be sent.
        self.is_open: bool = is_open

    def __repr__(self) -> str:
        return self.name


NEW = CallState("new", is_open=True)
RUNNING = CallState("running", running=True, is_open=True)
STOPPING = CallState("stopping", running=True, cancelled=True)
STOPPED = CallState("stopped", cancelled=True)
CANCELLING = CallState("cancelling", running=True, cancelled=True, withdrawn=True)
CANCELLED = CallState("cancelled", cancelled=True, withdrawn=True)
ANSWERED = CallState("answered")

_TABLE = {
    NEW: (RUNNING, NEW, STOPPED, CANCELLED, ANSWERED),
    RUNNING: (RUNNING, NEW, STOPPING, CANCELLING, ANSWERED),
    STOPPING: (STOPPING, STOPPED, STOPPING, CANCELLING, CANCELLED),
    STOPPED: (STOPPING, STOPPED, STOPPED, CANCELLED, CANCELLED),
    CANCELLING: (CANCELLING, CANCELLED, CANCELLING, CANCELLING, CANCELLED),
    CANCELLED: (CANCELLING, CANCELLED, CANCELLED, CANCELLED, CANCELLED),
    ANSWERED: (ANSWERED, ANSWERED, ANSWERED, ANSWERED, ANSWERED),
}
for _state, _row in _TABLE.items():
    _state.begun, _state.left, _state.stopped, _state.withdrawn, _state.answered = _row
