"""Every request code of 4.8.0, asked of a name server and a broker, and what they answer, as JSON can hold it."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rmqlab.broker.broker_config import OF_MACHINE
from rmqlab.errors import BadInput
from rmqlab.message.java import from_utf8
from rmqlab.message.record import decode_records
from rmqlab.message.topics import TRANS_HALF_TOPIC
from rmqlab.protocol import fastjson
from rmqlab.protocol.codes import PULLS, RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.serializable import to_json
from rmqlab_tools.live.frames import FrameDecoder
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.proof.codes.requests import Request

RECORDS = PULLS | {RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID}
LINES = {RequestCode.GET_BROKER_CONFIG, RequestCode.GET_NAMESRV_CONFIG}
# A client of 4.8.0 that is asked by way of the broker says so.
OF_A_CLIENT = {
    RequestCode.GET_CONSUMER_RUNNING_INFO: b'{"properties":{"PROP_CLIENT_VERSION":"V4_8_0"}}',
    RequestCode.CONSUME_MESSAGE_DIRECTLY: b'{"autoCommit":true,"consumeResult":"CR_SUCCESS","order":false}',
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: (
        b'{"messageQueueTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:1}}'
    ),
}
DEFERRED = {RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, *OF_A_CLIENT}
_EXCEPTION = re.compile(r"((?:java|com|org)\.[\w.]+(?:Exception|Error)\b).*", re.DOTALL)


class Connection:
    """One connection. `patience`: seconds until a request counts as unanswered.

    None stands for a server that answers a connection's requests in their order: then the answer to a later one tells.
    """

    def __init__(self, patience: float | None, sentinel: RequestCode) -> None:
        self.patience, self.sentinel = patience, sentinel
        self.asked_here: list[dict[str, Any]] = []
        self._opaques = itertools.count(1)
        self._answers: dict[int, asyncio.Future[RemotingCommand]] = {}

    async def open(self, address: str) -> None:
        """Connect to "ip:port"."""
        host, _, port = address.rpartition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port))
        self._task = asyncio.create_task(self._read())

    async def close(self) -> None:
        """Leave."""
        self._writer.close()
        self._task.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await self._task

    def send(
        self, code: int, fields: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> asyncio.Future[RemotingCommand]:
        """Send a request; the answer is what is returned, if it comes."""
        command = RemotingCommand.request(code, None, body)
        command.ext_fields, command.opaque = fields, next(self._opaques)
        answer = self._answers[command.opaque] = asyncio.get_running_loop().create_future()
        self._writer.write(encode_frame(command))
        return answer

    async def ask(self, request: Request) -> RemotingCommand | None:
        """Return the answer; None: there was none. One that comes later is missed."""
        answer = self.send(request.code, request.fields, request.body)
        patience = self.patience
        if patience is None and request.code not in DEFERRED:
            await self.send(self.sentinel)
            return answer.result() if answer.done() else None
        with suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(answer), patience or 0.3)
        return None

    async def _read(self) -> None:
        decoder = FrameDecoder(header_max=1 << 24)
        while data := await self._reader.read(1 << 16):
            decoder.feed(data)
            while (frame := decoder.next()) is not None:
                command = decode_frame(frame)
                if command.is_response:
                    self._answers.pop(command.opaque).set_result(command)
                elif not command.is_oneway:
                    self.asked_here.append(shown(command.code, command))
                    answer = RemotingCommand.response(0, None, None, OF_A_CLIENT[RequestCode(command.code)])
                    self._writer.write(encode_frame(answer.reply_to(command)))


def shown(code: int, command: RemotingCommand | None) -> dict[str, Any]:
    """Return what a command says, as JSON can hold it."""
    if command is None:
        return {"silent": True}
    said: dict[str, Any] = {"code": command.code}
    if command.remark is not None:
        said["remark"] = command.remark
    if command.ext_fields:
        said["fields"] = dict(sorted(command.ext_fields.items()))
    if command.body is not None:
        said["body"] = _body(code, command.body)
    return said


def _body(code: int, body: bytes) -> object:
    if code in RECORDS:
        return [[message.topic, message.queue_id, from_utf8(message.body or b"")] for message in decode_records(body)]
    if code in LINES:
        return dict(sorted(line.split("=", 1) for line in from_utf8(body).splitlines()))
    if code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
        with suppress(BadInput, ValueError):
            if messages := decode_records(body):
                return [[message.topic, from_utf8(message.body or b"")] for message in messages]
    try:
        return json.loads(json.dumps(_plain(fastjson.read(body)), default=str))
    except FrameError:
        return from_utf8(body)


def _plain(value: object) -> object:
    """Names that are objects become texts."""
    if isinstance(value, dict):
        return {
            name if isinstance(name, str) else fastjson.text(to_json(dict(name) if isinstance(name, tuple) else name)):
            _plain(item) for name, item in value.items()
        }  # fmt: skip
    return [_plain(item) for item in value] if isinstance(value, list) else value


def comparable(said: dict[str, Any], addresses: Mapping[str, str]) -> dict[str, Any]:
    """Return what of an answer is the same on every machine and at every time.

    Times become "T", addresses their names, exceptions their classes, measured numbers "N"; what the machine or the
    minute decides is left out: processors, folders, ports, and the topic that a broker makes after a minute.
    """
    return {name: _even(value, name, addresses) for name, value in said.items()}


def _even(value: Any, name: str, addresses: Mapping[str, str]) -> Any:
    if name in _OF_MACHINE or name == "delayTime":
        return "of this machine and moment"
    if isinstance(value, dict):
        if "bootTimestamp" in value:
            return {key: _measured(key, text) for key, text in value.items()}
        return {_even(key, "", addresses): _even(item, str(key), addresses) for key, item in value.items()}
    if isinstance(value, list):
        return [_even(item, name, addresses) for item in value if item != TRANS_HALF_TOPIC]
    if isinstance(value, int) and _TIMES[0] < value < _TIMES[1]:
        return "T"
    if not isinstance(value, str):
        return value
    text = re.sub(r'(?<="counter":)\d+', "N", value) if name == "version" else value
    text = re.sub(r"\b1\d{12}\b|\b20\d\d-\d\d-\d\d#[\d:]+", "T", text)
    text = re.sub(r"\b7F000001[0-9A-F]{8}", "ADDRESS", text)
    for address, title in addresses.items():
        text = text.replace(address, title)
    text = re.sub(r"127\.0\.0\.1:\d+", "CLIENT", text)
    return _EXCEPTION.sub(r"\1", text) if name == "remark" else text


def _measured(name: str, text: str) -> str:
    if name.endswith("Tps"):
        return "rates over three spans, if they are over"
    return re.sub(r"-?\d+(?:\.\d+)?(?:E-?\d+)?(?: [KMGT]?i?B\b)?", "N", text)


_OF_MACHINE = {
    *OF_MACHINE, "storePathRootDir", "storePathCommitLog", "kvConfigPath", "configStorePath", "listenPort",
    "haListenPort", "counter",
}  # fmt: skip
_TIMES = 10**12, 2**62
