"""The broker's settings with 4.8.0's names and defaults, read from properties such as those of broker.conf."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.filter.bloom import ERROR_RATE_END
from rmqlab.language import _
from rmqlab.message.java import parse_long
from rmqlab.message.message import Host
from rmqlab.message.topics import MAX_QUEUES
from rmqlab.protocol.namesrv import MASTER_ID
from rmqlab.protocol.topic_config import PERM_READ_WRITE
from rmqlab.store.config import BrokerRole, DelayLevels, MessageStoreConfig, Settings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MAX_PORT = 0xFFFF

# What 4.8.0 takes from the home it was started in and the number of processors: here of one with eight.
OF_MACHINE = {
    "clientCallbackExecutorThreads": "8", "endTransactionThreadPoolNums": "24", "heartbeatThreadPoolNums": "8",
    "processReplyMessageThreadPoolNums": "32", "pullMessageThreadPoolNums": "32", "queryMessageThreadPoolNums": "16",
    "rocketmqHome": "/opt/rocketmq",
}  # fmt: skip
# Settings of 4.8.0 for threads, queues, rates, replication and the environment of the process, none of which exists
# here: taken, shown and without effect, with their defaults.
INERT = {
    "adminBrokerThreadPoolNums": "16", "brokerFastFailureEnable": "true", "clientManageThreadPoolNums": "32",
    "clientManagerThreadPoolQueueCapacity": "1000000", "commercialBaseCount": "1", "commercialBigCount": "1",
    "commercialEnable": "true", "commercialTimerCount": "1", "commercialTransCount": "1", "compressedRegister": "false",
    "consumerFallbehindThreshold": "17179869184", "consumerManageThreadPoolNums": "32",
    "consumerManagerThreadPoolQueueCapacity": "1000000", "disableConsumeIfConsumerReadSlowly": "false",
    "endTransactionPoolQueueCapacity": "100000", "fetchNamesrvAddrByAddressServer": "false",
    "flushConsumerOffsetHistoryInterval": "60000", "forceRegister": "true", "heartbeatThreadPoolQueueCapacity": "50000",
    "highSpeedMode": "false", "maxDelayTime": "40", "messageStorePlugIn": "", "pullThreadPoolQueueCapacity": "100000",
    "queryThreadPoolQueueCapacity": "20000", "registerBrokerTimeoutMills": "6000",
    "replyThreadPoolQueueCapacity": "10000", "sendMessageThreadPoolNums": "1", "sendThreadPoolQueueCapacity": "10000",
    "startAcceptSendRequestTimeStamp": "0", "transferMsgByHeap": "true", "waitTimeMillsInHeartbeatQueue": "31000",
    "waitTimeMillsInPullQueue": "5000", "waitTimeMillsInSendQueue": "200", "waitTimeMillsInTransactionQueue": "3000",
    # NettyServerConfig and NettyClientConfig
    "channelNotActiveInterval": "60000", "clientAsyncSemaphoreValue": "65535", "clientChannelMaxIdleTimeSeconds": "120",
    "clientCloseSocketIfTimeout": "false", "clientOnewaySemaphoreValue": "65535",
    "clientPooledByteBufAllocatorEnable": "false", "clientSocketRcvBufSize": "131072",
    "clientSocketSndBufSize": "131072", "clientWorkerThreads": "4", "connectTimeoutMillis": "3000",
    "serverAsyncSemaphoreValue": "64", "serverCallbackExecutorThreads": "0", "serverChannelMaxIdleTimeSeconds": "120",
    "serverOnewaySemaphoreValue": "256", "serverPooledByteBufAllocatorEnable": "true", "serverSelectorThreads": "3",
    "serverSocketRcvBufSize": "131072", "serverSocketSndBufSize": "131072", "serverWorkerThreads": "8",
    "useEpollNativeSelector": "false", "useTLS": "false",
    # MessageStoreConfig
    "useReentrantLockWhenPutMessage": "false", "flushCommitLogTimed": "false", "deleteCommitLogFilesInterval": "100",
    "deleteConsumeQueueFilesInterval": "100", "destroyMapedFileIntervalForcibly": "120000",
    "redeleteHangedFileInterval": "120000", "putMsgIndexHightWater": "600000", "commitCommitLogLeastPages": "4",
    "flushLeastPagesWhenWarmMapedFile": "4096", "commitCommitLogThoroughInterval": "200", "messageIndexSafe": "false",
    "haListenPort": "10912", "haSendHeartbeatInterval": "5000", "haHousekeepingInterval": "20000",
    "haTransferBatchSize": "32768", "haSlaveFallbehindMax": "268435456", "warmMapedFileEnable": "false",
    "debugLockEnable": "false", "duplicationEnable": "false", "osPageCacheBusyTimeOutMills": "1000",
    "transientStorePoolSize": "5", "fastFailIfNoBufferInStorePool": "false", "enableDLegerCommitLog": "false",
    "isEnableBatchPush": "false", "transientStorePoolEnable": "false", "commitIntervalCommitLog": "200",
}  # fmt: skip
INERT |= OF_MACHINE
# System properties of 4.8.0 for TLS, which `serve` takes as settings; a broker does not show them.
TLS_SETTINGS = frozenset({
    "tls.server.mode", "tls.test.mode.enable", "tls.server.certPath", "tls.server.keyPath", "tls.server.keyPassword",
    "tls.server.need.client.auth", "tls.server.authClient", "tls.server.trustCertPath",
})  # fmt: skip
# Settings of POP (`rmqlab.broker.pop.pop_config`), which a 4.8.0 broker has not: kept for one that has.
OF_POP = frozenset({
    "defaultMessageRequestMode", "defaultPopShareQueueNum", "serverLoadBalancerEnable", "popFromRetryProbability",
    "enableRetryTopicV2", "retrieveMessageFromPopRetryTopicV1", "popResponseReturnActualRetryTopic",
    "initPopOffsetByCheckMsgInMem", "popPollingSize", "maxPopPollingSize", "popLongPollingForceNotifyInterval",
    "reviveQueueNum", "reviveInterval", "reviveMaxSlow", "reviveScanTime", "timerWheelEnable", "timerPrecisionMs",
    "timerMaxDelaySec",
})  # fmt: skip
# Without effect too, and null unless told.
INERT_UNSET = frozenset({"haMasterAddress", "dLegerGroup", "dLegerPeers", "dLegerSelfId", "preferredLeaderId"})


@dataclass(slots=True)
class BrokerConfig(Settings):
    """Settings of one broker (`BrokerConfig`, and `listenPort` of `NettyServerConfig`). Times in ms.

    Java takes the machine's own address and name for `brokerIP1`, `brokerIP2` and `brokerName`; a simulated broker has
    no machine, so the defaults are the loopback address and "broker-a". `inert` (ours) is what was set without effect.
    """

    origin: ClassVar[str] = _("broker properties")

    broker_cluster_name: str = "DefaultCluster"
    broker_name: str = "broker-a"
    broker_id: int = MASTER_ID
    broker_ip1: str = field(default="127.0.0.1", metadata={"name": "brokerIP1"})
    broker_ip2: str = field(default="127.0.0.1", metadata={"name": "brokerIP2"})
    listen_port: int = 10911
    namesrv_addr: str | None = None
    broker_permission: int = PERM_READ_WRITE
    default_topic_queue_nums: int = 8
    auto_create_topic_enable: bool = True
    cluster_topic_enable: bool = True
    broker_topic_enable: bool = True
    auto_create_subscription_group: bool = True
    msg_trace_topic_name: str = "RMQ_SYS_TRACE_TOPIC"
    trace_topic_enable: bool = False
    trace_on: bool = True
    region_id: str = "DefaultRegion"
    reject_transaction_message: bool = False
    transaction_time_out: int = 6_000
    transaction_check_max: int = 15
    transaction_check_interval: int = 60_000
    long_polling_enable: bool = True
    short_polling_time_mills: int = 1_000
    notify_consumer_ids_changed_enable: bool = True
    slave_read_enable: bool = False
    enable_calc_filter_bit_map: bool = False
    expect_consumer_num_use_filter: int = 32
    max_error_rate_of_bloom_filter: int = 20
    filter_data_clean_time_span: int = 24 * 3_600_000
    filter_support_retry: bool = False
    filter_server_nums: int = 0
    enable_property_filter: bool = False
    register_name_server_period: int = 30_000
    flush_consumer_offset_interval: int = 5_000
    store_reply_message_enable: bool = True
    acl_enable: bool = False
    auto_delete_unused_stats: bool = False
    inert: dict[str, str] = field(default_factory=dict, metadata={"name": None})
    of_pop: dict[str, str] = field(default_factory=dict, metadata={"name": None})

    @staticmethod
    def read_number(text: str) -> int:
        """Read a whole number.

        Raises:
            NumberFormatError: a text that is no whole number.
        """
        return parse_long(text)

    def update(self, properties: Mapping[str, str], *, where: str = "") -> None:
        """Set what `properties` names; names of other settings are passed over (see `unknown_keys`)."""
        Settings.update(self, properties, where=where)
        self.inert.update({name: properties[name] for name in (*INERT, *INERT_UNSET) if name in properties})
        self.of_pop.update({name: properties[name] for name in properties.keys() & OF_POP})

    def inert_properties(self) -> dict[str, str]:
        """The settings that have no effect here under their 4.8.0 names.

        The port of replication follows the listening one, whatever it was set to (`BrokerStartup`).
        """
        return INERT | self.inert | {"haListenPort": str(self.listen_port + 1)}

    def set_without_effect(self) -> list[str]:
        """What was set to another value than 4.8.0's own and has no effect here.

        >>> config = BrokerConfig.from_properties({"useTLS": "true", "highSpeedMode": "false", "brokerName": "b"})
        >>> config.set_without_effect()
        ['useTLS']
        """
        return [name for name, value in self.inert.items() if INERT.get(name) != value]

    @property
    def broker_addr(self) -> str:
        """The address clients use, "ip:port" (`BrokerController.getBrokerAddr`)."""
        return f"{self.broker_ip1}:{self.listen_port}"

    @property
    def store_host(self) -> Host:
        """The address that stands in every message stored here."""
        return Host(self.broker_ip1, self.listen_port)

    @property
    def ha_server_addr(self) -> str:
        """The address of the replication service: one port above the listening one (`BrokerStartup`)."""
        return f"{self.broker_ip2}:{self.listen_port + 1}"


@cache
def known_keys() -> frozenset[str]:
    """The names of every setting of a 4.8.0 broker: its own, its store's and its network's."""
    own, stores = BrokerConfig.property_names().values(), MessageStoreConfig.property_names().values()
    return frozenset({*INERT, *INERT_UNSET, *TLS_SETTINGS, *own, *stores})


def unknown_keys(properties: Mapping[str, str]) -> list[str]:
    """The keys that no setting of a 4.8.0 broker has."""
    known = known_keys()
    return [key for key in properties if key not in known]


def refuse_unknown(properties: Mapping[str, str], others: Collection[str] = ()) -> None:
    """Refuse names that no setting of a 4.8.0 broker has, nor is one of the `others` that a later one has.

    Raises:
        BadInput: with the name that may be meant.
    """
    for name in unknown_keys(properties):
        if name in others:
            continue
        raise BadInput(
            _(
                "setting {name}: a 4.8.0 broker has none of this name{near}",
                name=f"{name!r}",
                near=did_you_mean(name, known_keys()),
            )
        )


def refuse_unworkable(broker: BrokerConfig, store: MessageStoreConfig, where: str) -> None:
    """Refuse values with which a 4.8.0 broker does not start or cannot store a message; `where` they come from.

    Source: `BrokerStartup.createBrokerController`, `BrokerController.initialize`, `ScheduleMessageService.load`,
    `ScheduleMessageService.start`, `DefaultMessageStore.addScheduleTask`, `BloomFilter.createByFn`.

    Raises:
        BadInput: a value is one of these; the text names the setting and what would be right.
    """
    port, rate = broker.listen_port, broker.max_error_rate_of_bloom_filter
    consumers, delays = broker.expect_consumer_num_use_filter, store.message_delay_level
    log_bytes, queue_bytes = store.mapped_file_size_commit_log, store.mapped_file_size_consume_queue
    offsets, delay_offsets = broker.flush_consumer_offset_interval, store.flush_delay_offset_interval
    clean, queues = store.clean_resource_interval, broker.default_topic_queue_nums
    may_be_master = store.broker_role is not BrokerRole.SLAVE
    settings = (
        ("listenPort", port, 0 <= port <= MAX_PORT, _("a port of at most {max_port}", max_port=MAX_PORT)),
        ("brokerIP1", broker.broker_ip1, broker.broker_ip1.strip(), _("the address that clients are told")),
        ("brokerName", broker.broker_name, broker.broker_name.strip(), _("a name")),
        (
            "brokerId",
            broker.broker_id,
            may_be_master or broker.broker_id > MASTER_ID,
            _("above 0 for brokerRole=SLAVE"),
        ),
        (
            "maxErrorRateOfBloomFilter",
            rate,
            1 <= rate < ERROR_RATE_END,
            _("a percentage from 1 up, below {error_rate_end}", error_rate_end=ERROR_RATE_END),
        ),
        (
            "defaultTopicQueueNums",
            queues,
            queues <= MAX_QUEUES,
            _("at most {max_queues}, so that clients can list them", max_queues=MAX_QUEUES),
        ),
        ("expectConsumerNumUseFilter", consumers, consumers >= 1, _("1 or more")),
        ("mappedFileSizeCommitLog", log_bytes, log_bytes > 0, _("a number of bytes above 0")),
        ("mappedFileSizeConsumeQueue", queue_bytes, queue_bytes > 0, _("a number of bytes above 0")),
        # Java's `scheduleAtFixedRate` refuses a period of 0 or less
        ("flushConsumerOffsetInterval", offsets, offsets > 0, _("1 or more")),
        ("flushDelayOffsetInterval", delay_offsets, delay_offsets > 0 or not may_be_master, _("1 or more")),
        ("cleanResourceInterval", clean, clean > 0, _("1 or more")),
        ("messageDelayLevel", delays, DelayLevels(delays).parse_ok, _("times such as 1s 5s 1m 2h")),
    )
    for name, value, works, right in settings:
        if not works:
            raise BadInput(
                _(
                    "{where}: {name} is {value}; right is {right}",
                    where=where,
                    name=name,
                    value=f"{value!r}",
                    right=right,
                )
            )
