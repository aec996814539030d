"""Questions to a cluster that is not ready for them yet."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka.clients import Clients


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.FENCED_LEADER_EPOCH])
def test_a_leader_that_does_not_know_its_partition_yet_is_asked_again(code: int) -> None:
    refused: Future[int] = Future()
    refused.set_exception(KafkaException(KafkaError(code)))
    answered: Future[int] = Future()
    answered.set_result(7)
    futures = [answered, refused]
    assert Clients(BrokerConfig("127.0.0.1:1")).ask("ask for offsets", futures.pop) == 7
