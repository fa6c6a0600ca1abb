"""All settings of a broker as one table, shown and changed while it runs (4.8.0 `Configuration`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.message.java import hash_map_order
from rmqlab.protocol.topic_config import DataVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.store.config import MessageStoreConfig

# The table's length when `Configuration` fills its properties; it decides the order of the lines.
_CAPACITY = 16


class Configuration:
    """The broker's own settings, its store's, and those that have no effect here, under 4.8.0's names.

    ``others`` are names of the settings file that 4.8.0 does not know: they stay in the table. After a change
    ``persist`` gets the table as text, for the file the broker was started with.
    """

    def __init__(self, config: BrokerConfig, store_config: MessageStoreConfig, now: int) -> None:
        self._config = config
        self._store_config = store_config
        self.data_version = DataVersion(now)
        self.others: dict[str, str] = {}
        self.persist: Callable[[str], None] | None = None

    def properties(self) -> dict[str, str]:
        """Return every setting that is not null."""
        known = self._config.properties() | self._config.inert_properties() | self._store_config.properties()
        return self.others | known

    def text(self) -> str:
        """Return `name=value` lines in the order of java.util.Properties."""
        table = self.properties()
        return "".join(f"{name}={table[name]}\n" for name in hash_map_order(table, _CAPACITY))

    def update(self, properties: Mapping[str, str], now: int) -> None:
        """Take over settings; names nobody has and values that do not fit are passed over, as in 4.8.0."""
        self.others.update({name: value for name, value in properties.items() if name in self.others})
        for name, value in properties.items():
            for config in (self._config, self._store_config):
                try:
                    config.update({name: value})
                except BadInput:
                    continue
        self.data_version.next_version(now)
        if self.persist is not None:
            self.persist(self.text())
