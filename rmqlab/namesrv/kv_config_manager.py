"""Texts by namespace and key that a name server keeps for others (4.8.0 `KVConfigManager`). Nothing here persists."""

from __future__ import annotations

from rmqlab.message.java import hash_map_order
from rmqlab.protocol.admin_bodies import KVTable

NAMESPACE_ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"
"""The namespace whose keys are ordered topics and whose values read "broker:queues;broker:queues"."""


class KVConfigManager:
    """Namespaces, once made, stay even when their last key goes."""

    def __init__(self) -> None:
        self.config_table: dict[str, dict[str, str]] = {}

    def put_kv_config(self, namespace: str, key: str, value: str) -> None:
        """Set a value."""
        self.config_table.setdefault(namespace, {})[key] = value

    def delete_kv_config(self, namespace: str, key: str) -> None:
        """Forget a value; nothing happens when there is none."""
        self.config_table.get(namespace, {}).pop(key, None)

    def get_kv_config(self, namespace: str, key: str) -> str | None:
        """Return a value."""
        return self.config_table.get(namespace, {}).get(key)

    def get_kv_list_by_namespace(self, namespace: str) -> KVTable | None:
        """Return all keys and values of a namespace; None when nobody ever put one there."""
        table = self.config_table.get(namespace)
        return None if table is None else KVTable(table={key: table[key] for key in hash_map_order(table)})
