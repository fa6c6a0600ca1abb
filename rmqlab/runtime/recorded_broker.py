"""A broker of ours with a recorder before it, for a run of your own that is written down as it happens."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rmqlab.runtime.broker_startup import BrokerStartup
from rmqlab.runtime.serve_config import Endpoint, ServeConfig
from rmqlab.runtime.tap import Tap, TapConfig
from rmqlab.runtime.tap_recording import TapRecording

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def recorded_broker(folder: Path, **settings: str) -> AsyncIterator[str]:
    """Start name server, broker and recorder on free ports; give the name server address for clients ("ip:port").

    `folder` is new and gets the recording; `settings` are 4.8.0's, as text. When the block ends the recording is
    finished: shut the clients down inside it. Raises BadInput for a folder that holds a recording, or a setting.
    """
    properties = {"enablePropertyFilter": "true", **settings}
    startup = BrokerStartup(ServeConfig.of(properties, where="settings", listen="127.0.0.1:0", namesrv="127.0.0.1:0"))
    await startup.start()
    try:
        config = TapConfig(
            Endpoint.parse(startup.namesrv_addr, "name server"), listen=Endpoint(), broker_listen=Endpoint()
        )
        tap = Tap(config, TapRecording(folder))
        await tap.start()
        try:
            yield tap.namesrv_addr
        finally:
            await tap.stop()
    finally:
        await startup.stop()
