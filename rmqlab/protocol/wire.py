"""What of a version is seen in frames and in the store: numbers, texts and fields, by which nothing is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from rmqlab.message.properties import PROPERTY_DELAY_TIME_LEVEL, PROPERTY_MSG_REGION, PROPERTY_TRACE_SWITCH
from rmqlab.protocol.codes import RequestCode, ResponseCode, version_desc, version_number

IS_SUB_CHANGE: Final = "IS_SUB_CHANGE"
_FAQ_4: Final = "http://rocketmq.apache.org/docs/faq/"
_FAQ_5: Final = "https://rocketmq.apache.org/docs/bestPractice/06FAQ"


ANY_CONFIG: Final = "*.json"


class ConfigMark(NamedTuple):
    """A field of a file of `config/` (of its `dataVersion`, too) by which its writer is known."""

    file: str
    field: str


@dataclass(frozen=True, slots=True)
class Wire:
    """How one version writes its frames, its messages and its files.

    `version_number`: in the header of every command, `MQVersion.CURRENT_VERSION`. `faq`: the link in remarks and in
    texts of exceptions, `FAQUrl.suggestTodo`. `tells_sys_flags`: the answer to a pull has `topicSysFlag` and
    `groupSysFlag`, `PullMessageProcessor.composeResponseHeader`. `tells_unique_id`: the answer to a send has
    `transactionId`, the message's UNIQ_KEY, `SendMessageProcessor.handlePutMessageResult`. `makes_unique_id`: the
    broker gives a message a UNIQ_KEY that has none, `SendMessageProcessor.sendMessage`. `dlq_properties`: of a message
    that becomes a dead letter when it is sent to a retry topic, `SendMessageProcessor.handleRetryAndDLQ`.
    `heartbeat_fields`: in the header of the answer to a heartbeat, `ClientManageProcessor.heartBeat`.
    `stored_properties`: what the broker adds to a message besides CLUSTER,
    `AbstractSendMessageProcessor.buildMsgContext`. `property_capacity`: the table length of the map of properties that
    were read, which makes their order, `MessageDecoder.string2messageProperties`. `keeps_origin_in_dlq`: the text of a
    message that is sent back is made again when ORIGIN_MESSAGE_ID is in it,
    `AbstractSendMessageProcessor.consumerSendMsgBack`. `illegal_queue`: the code that refuses a pull from a queue that
    is not there, `PullMessageProcessor.processRequest`. `lite_pull`: the request of a lite pull consumer,
    `MQClientAPIImpl.pullMessage`. `tells_empty_stats`: the admin tool says the empty statistics of a group that is
    online, `DefaultMQAdminExtImpl.examineConsumeStats`. `tells_suspend`: a check point of POP says whether its message
    comes again without being counted, `PopCheckPoint.isSuspend`. `tells_origin_group`: a message that POP gives again
    says of which group, `PopReviveService.reviveRetry`. `broker_fields`: what a route says of each broker besides,
    `BrokerData.enableActingMaster`. `queue_flag`: the name that a topic's system flag has in a route,
    `QueueData.topicSysFlag`. `quotes_since`: the version of a request from which on numbers that are names stand in
    quotes in a route, `ClientRequestProcessor.getRouteInfoByTopic`. `config_marks`: fields of the files in `config/`
    that not every version writes, `DataVersion.stateVersion`, `ConsumerOffsetManager.groupTopicMap`.

    >>> WIRE_5_5_0.version_number, WIRE_5_5_0.version_name
    (513, 'V5_5_0')
    """

    version_number: int
    faq: str = _FAQ_4
    tells_sys_flags: bool = False
    tells_unique_id: bool = False
    makes_unique_id: bool = False
    dlq_properties: tuple[tuple[str, str], ...] = ()
    heartbeat_fields: tuple[tuple[str, str], ...] = ()
    stored_properties: tuple[str, ...] = ()
    property_capacity: int = 16
    keeps_origin_in_dlq: bool = False
    illegal_queue: ResponseCode = ResponseCode.SYSTEM_ERROR
    lite_pull: RequestCode = RequestCode.PULL_MESSAGE
    tells_empty_stats: bool = False
    tells_suspend: bool = False
    tells_origin_group: bool = False
    broker_fields: tuple[tuple[str, bool], ...] = ()
    queue_flag: str = "topicSynFlag"
    quotes_since: int | None = None
    config_marks: tuple[ConfigMark, ...] = ()

    @property
    def version_name(self) -> str:
        """The name of `version_number`, as an administrator is said it (`MQVersion.getVersionDesc`)."""
        return version_desc(self.version_number)

    @property
    def suggest_todo(self) -> str:
        """The line that many texts end with (`FAQUrl.suggestTodo`; all its links are the same)."""
        return f"\nSee {self.faq} for further details."

    def attach_default_url(self, text: str) -> str:
        """A text of an exception with the link, unless it has one (`FAQUrl.attachDefaultURL`)."""
        return text if "\nSee " in text else f"{text}\nFor more information, please visit the url, {self.faq}"


_STATE_VERSION: Final = ConfigMark(ANY_CONFIG, "stateVersion")
_TOPICS_OF_GROUPS: Final = ConfigMark("consumerOffset.json", "groupTopicMap")


def _of_5(version: str, *, is_new: bool) -> Wire:
    return Wire(
        version_number(version),
        faq=_FAQ_5,
        tells_sys_flags=True,
        tells_unique_id=True,
        makes_unique_id=True,
        dlq_properties=((PROPERTY_DELAY_TIME_LEVEL, "-1"),),
        heartbeat_fields=(("IS_SUPPORT_HEART_BEAT_V2", "true"), (IS_SUB_CHANGE, "true")),
        stored_properties=(PROPERTY_MSG_REGION, PROPERTY_TRACE_SWITCH),
        property_capacity=128,
        keeps_origin_in_dlq=True,
        illegal_queue=ResponseCode.INVALID_PARAMETER,
        lite_pull=RequestCode.LITE_PULL_MESSAGE,
        tells_empty_stats=True,
        tells_suspend=is_new,
        tells_origin_group=is_new,
        broker_fields=(("enableActingMaster", False),),
        queue_flag="topicSysFlag",
        quotes_since=version_number("4.9.4"),
        config_marks=(_STATE_VERSION, _TOPICS_OF_GROUPS) if is_new else (_STATE_VERSION,),
    )


WIRE_4_8_0: Final = Wire(version_number("4.8.0"))
DEFAULT_WIRE: Final = WIRE_4_8_0
"""Of who is given no rules; `rmqlab.rules` has it in the usual version's."""
WIRE_5_3_3: Final = _of_5("5.3.3", is_new=False)
WIRE_5_5_0: Final = _of_5("5.5.0", is_new=True)
