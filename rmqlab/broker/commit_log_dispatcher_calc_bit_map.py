"""The bitmap of a message: which groups' expressions it fulfils (4.8.0 `CommitLogDispatcherCalcBitMap`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.bits import BitsArray

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.store.dispatch_request import DispatchRequest


class CommitLogDispatcherCalcBitMap:
    """Sets the bits of every group, dead ones too, whose expression is true for a message that is being dispatched.

    A message of a topic without such groups gets no bitmap at all, which the pull filter takes for "may match".
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def dispatch(self, request: DispatchRequest) -> None:
        """Fill `request.bit_map`; nothing happens unless `enableCalcFilterBitMap` is on."""
        if not self._broker.config.enable_calc_filter_bit_map:
            return
        manager = self._broker.consumer_filter_manager
        filter_data = manager.get_by_topic(request.topic)
        if not filter_data:
            return
        bits = BitsArray.of_length(manager.bloom_filter.m)
        for data in filter_data:
            if data.compiled_expression is None or data.bloom_filter_data is None:
                continue
            try:
                matched = data.compiled_expression.evaluate(request.properties_map)
            except Exception:  # noqa: BLE001, S112 - Java logs whatever an evaluation throws and leaves the bits out
                continue
            if matched is True:
                manager.bloom_filter.hash_to(data.bloom_filter_data, bits)
        request.bit_map = bytes(bits.data)
