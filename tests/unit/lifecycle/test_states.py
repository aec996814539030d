"""The states of an application, and the ways between them."""

from __future__ import annotations

import itertools
import threading

import pytest

from headrace import StreamsState
from headrace.errors import IllegalStateError
from headrace.lifecycle.states import StateMachine

CREATED, REBALANCING, RUNNING, PENDING_SHUTDOWN, NOT_RUNNING, PENDING_ERROR, ERROR = StreamsState

# KafkaStreams.State of 4.3: which may follow which.
WAYS = {
    (CREATED, REBALANCING),
    (CREATED, PENDING_SHUTDOWN),
    (REBALANCING, RUNNING),
    (REBALANCING, PENDING_SHUTDOWN),
    (REBALANCING, PENDING_ERROR),
    (RUNNING, REBALANCING),
    (RUNNING, RUNNING),
    (RUNNING, PENDING_SHUTDOWN),
    (RUNNING, PENDING_ERROR),
    (PENDING_SHUTDOWN, NOT_RUNNING),
    (PENDING_ERROR, ERROR),
}
# KafkaStreams.setState answers false instead of throwing.
TOO_LATE = {
    (REBALANCING, REBALANCING),
    *((PENDING_SHUTDOWN, new) for new in StreamsState if new is not NOT_RUNNING),
    *((PENDING_ERROR, new) for new in StreamsState if new is not ERROR),
    (NOT_RUNNING, PENDING_SHUTDOWN),
    (NOT_RUNNING, NOT_RUNNING),
    (ERROR, PENDING_SHUTDOWN),
    (ERROR, PENDING_ERROR),
    (ERROR, ERROR),
}


def machine_in(state: StreamsState) -> StateMachine:
    machine = StateMachine("client")
    machine._state = state
    return machine


@pytest.mark.parametrize(("old", "new"), list(itertools.product(StreamsState, repeat=2)), ids=str)
def test_the_ways_between_states_are_those_of_kafka_streams(old: StreamsState, new: StreamsState) -> None:
    machine = machine_in(old)
    if (old, new) in WAYS:
        assert machine.become(new)
        assert machine.state is new
    elif (old, new) in TOO_LATE:
        assert not machine.become(new)
        assert machine.state is old
    else:
        with pytest.raises(IllegalStateError, match=f"cannot go from {old} to {new}"):
            machine.become(new)
        assert machine.state is old


def test_listeners_hear_the_new_and_the_old_state_and_may_ask_for_it() -> None:
    machine, heard = StateMachine("client"), []
    machine.listen(lambda new, old: heard.append((new, old, machine.state)))

    machine.become(REBALANCING)
    machine.become(RUNNING)

    assert heard == [(REBALANCING, CREATED, REBALANCING), (RUNNING, REBALANCING, RUNNING)]


def test_a_listener_that_fails_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    machine, heard = StateMachine("client"), []
    machine.listen(lambda new, old: 1 // 0)
    machine.listen(lambda new, old: heard.append(new))

    assert machine.become(REBALANCING)

    assert heard == [REBALANCING]
    assert "a state listener failed" in caplog.text


def test_waiting_ends_with_the_state_or_with_the_time() -> None:
    machine = StateMachine("client")
    assert not machine.wait_for(RUNNING, timeout=0)

    waiting = threading.Thread(target=machine.wait_for, args=(REBALANCING,))
    waiting.start()
    machine.become(REBALANCING)
    waiting.join(30)
    assert not waiting.is_alive()
