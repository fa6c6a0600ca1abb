"""Headers and bodies with which the admin tool shows and changes access control; the numbers are request codes."""

from __future__ import annotations

import msgspec

from rmqlab.protocol.header import NULL, CommandHeader
from rmqlab.protocol.serializable import RemotingSerializable


class CreateAccessConfigRequestHeader(CommandHeader):
    """UPDATE_AND_CREATE_ACL_CONFIG 50; permissions as "topicA=PUB,topicB=SUB"."""

    access_key: str = NULL
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None


class DeleteAccessConfigRequestHeader(CommandHeader):
    """DELETE_ACL_CONFIG 51."""

    access_key: str = NULL


class UpdateGlobalWhiteAddrsConfigRequestHeader(CommandHeader):
    """UPDATE_GLOBAL_WHITE_ADDRS_CONFIG 53; addresses with commas."""

    global_white_addrs: str = NULL


class GetBrokerAclConfigResponseHeader(CommandHeader):
    """Answer to GET_BROKER_CLUSTER_ACL_INFO 52; `version` is the text of a DataVersion."""

    version: str = NULL
    broker_name: str = NULL
    broker_addr: str = NULL
    cluster_name: str = NULL


class PlainAccessConfig(RemotingSerializable):
    """One account as plain_acl.yml has it."""

    access_key: str | None = None
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: list[str] | None = None
    group_perms: list[str] | None = None


class GetBrokerClusterAclConfigResponseBody(RemotingSerializable):
    """Answer to GET_BROKER_CLUSTER_ACL_CONFIG 54."""

    global_white_addrs: list[str] = msgspec.field(default_factory=list)
    plain_access_configs: list[PlainAccessConfig] = msgspec.field(default_factory=list)
