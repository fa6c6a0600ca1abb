"""The classes and methods by which code of Java and Kotlin makes consumers of RocketMQ."""

from __future__ import annotations

import re
from typing import Final

WORDS: Final = re.compile(
    r"MQPushConsumer|MQPullConsumer|LitePullConsumer|setSubscriptionExpressions|ConsumerBuilder|PushConsumer\b|"
    r"SimpleConsumer\b|com\.aliyun\.openservices|ONSFactory"
)
OURS: Final = (
    "org.apache.rocketmq",
    "com.alibaba.rocketmq",
    "com.aliyun.openservices",
    "com.aliyun.mq",
    "io.openmessaging",
)
OWN_PACKAGES: Final = {f"{client}.client.consumer" for client in OURS[:2]}
"""The client itself, whose source may be among the sources."""
KINDS: Final = {
    "DefaultMQPushConsumer": "push", "MQPushConsumer": "push",
    "DefaultLitePullConsumer": "lite", "LitePullConsumer": "lite",
    "DefaultMQPullConsumer": "lite", "MQPullConsumer": "lite", "MQPullConsumerScheduleService": "lite",
}  # fmt: skip
"""Classes of the client by how they fetch; no other library has one of these names."""
IMPORTED: Final = {
    "PushConsumer": "grpc", "PushConsumerBuilder": "grpc",
    "SimpleConsumer": "simple", "SimpleConsumerBuilder": "simple",
    "Consumer": "push", "OrderConsumer": "push", "BatchConsumer": "push",
    "ConsumerBean": "push", "OrderConsumerBean": "push", "BatchConsumerBean": "push",
}  # fmt: skip
"""Those whose names others have too: they count where they are imported from a client of RocketMQ."""
BUILDERS: Final = {
    "newPushConsumerBuilder": "grpc", "newLitePushConsumerBuilder": "grpc", "newSimpleConsumerBuilder": "simple",
}  # fmt: skip
TAKE_QUEUES: Final = {"DefaultMQPullConsumer", "MQPullConsumerScheduleService"}
"""Consumers whose heartbeats have the topics that are registered with them, and often none: 4.8.0
`DefaultMQPullConsumerImpl.subscriptions`. So is a lite pull consumer that assigns its queues."""
REGISTER: Final = {"registerMessageQueueListener", "registerPullTaskCallback"}
SETTERS: Final = {"setMessageModel": "messageModel", "setConsumeFromWhere": "consumeFromWhere"}
"""Setters of what all members of a group must have alike, by its name."""
ONS_MAKERS: Final = {"createConsumer", "createOrderedConsumer", "createBatchConsumer"}
