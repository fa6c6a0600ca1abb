"""The bitmap of a message: which groups' expressions it fulfils (4.8.0 `CommitLogDispatcherCalcBitMap`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.bits import BitsArray
from rmqlab.filter.bloom import BloomFilterError

if TYPE_CHECKING:
    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
    from rmqlab.store.dispatch_request import DispatchRequest


class CommitLogDispatcherCalcBitMap:
    """Sets the bits of every group, dead ones too, whose expression is true for a message that is being dispatched.

    A message of a topic without such groups gets no bitmap at all, which the pull filter takes for "may match"
    (rows F-82..F-88).
    """

    def __init__(self, config: BrokerConfig, consumer_filter_manager: ConsumerFilterManager) -> None:
        self._config = config
        self._manager = consumer_filter_manager

    def dispatch(self, request: DispatchRequest) -> None:
        """Fill `request.bit_map`; nothing happens unless `enableCalcFilterBitMap` is on."""
        if not self._config.enable_calc_filter_bit_map:
            return
        filter_data = self._manager.get_by_topic(request.topic)
        if not filter_data:
            return
        bits = BitsArray.of_length(self._manager.bloom_filter.m)
        for data in filter_data:
            if data.compiled_expression is None or data.bloom_filter_data is None:
                continue
            try:
                matched = data.compiled_expression.evaluate(request.properties_map)
            except Exception:  # noqa: BLE001, S112 - Java logs whatever an evaluation throws and leaves the bits out
                continue
            if matched is not True:
                continue
            try:
                self._manager.bloom_filter.hash_to(data.bloom_filter_data, bits)
            except (BloomFilterError, ValueError, IndexError):
                return  # foreign positions: Java gives up on the message's bitmap
        request.bit_map = bytes(bits.data)
