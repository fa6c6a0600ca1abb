"""The broker's settings of POP with 5.x's names and defaults (`BrokerConfig`, `MessageStoreConfig` of 5.3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rmqlab.language import _
from rmqlab.message.java import parse_long
from rmqlab.protocol.assignment import MessageRequestMode
from rmqlab.store.config import Settings


@dataclass(slots=True)
class PopConfig(Settings):
    """Settings of POP. Times in ms, `pop_from_retry_probability` in percent."""

    origin: ClassVar[str] = _("broker properties")

    default_message_request_mode: MessageRequestMode = MessageRequestMode.PULL
    default_pop_share_queue_num: int = -1
    server_load_balancer_enable: bool = True
    pop_from_retry_probability: int = 20
    enable_retry_topic_v2: bool = False
    retrieve_message_from_pop_retry_topic_v1: bool = True
    pop_response_return_actual_retry_topic: bool = False
    init_pop_offset_by_check_msg_in_mem: bool = True
    pop_polling_size: int = 1_024
    max_pop_polling_size: int = 100_000
    pop_long_polling_force_notify_interval: int = 800
    revive_queue_num: int = 8
    revive_interval: int = 1_000
    revive_max_slow: int = 3
    revive_scan_time: int = 10_000
    timer_wheel_enable: bool = True
    timer_precision_ms: int = 1_000
    timer_max_delay_sec: int = 3 * 24 * 3_600

    @staticmethod
    def read_number(text: str) -> int:
        """Read a whole number.

        Raises:
            NumberFormatError: a text that is no whole number.
        """
        return parse_long(text)
