"""What the doctor sends, whom it asks, and what it says when nobody answers."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager, suppress

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.protocol.codes import RequestCode
from rmqlab_tools.doctor.doctor import access_keys, tls_context
from rmqlab_tools.doctor.read_client import READ_CODES, ReadClient
from rmqlab_tools.live.frames import FrameDecoder
from rmqlab_tools.live.wire.frame_codec import decode_frame

CHANGING = [
    RequestCode.SEND_MESSAGE, RequestCode.PULL_MESSAGE, RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.UPDATE_BROKER_CONFIG, RequestCode.HEART_BEAT,
    RequestCode.LOCK_BATCH_MQ, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, RequestCode.CONSUME_MESSAGE_DIRECTLY,
]  # fmt: skip


class Forwarder:
    """A server on a thread of its own that hands everything on to another, and keeps the frames sent to it."""

    def __init__(self, target, tls=None, *, after=None):
        self.target, self.tls, self.after = target, tls, after
        self.sent = []

    def __enter__(self):
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(started)), daemon=True)
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *error):
        with suppress(RuntimeError):  # it may have ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _run(self, started):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.addr = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        started.set()
        await self._stop.wait()
        server.close()

    async def _serve(self, reader, writer):
        host, _, port = self.target.rpartition(":")
        from_target, to_target = await asyncio.open_connection(host, int(port))
        decoder = FrameDecoder()

        async def answers():
            while data := await from_target.read(65536):
                writer.write(data)
            writer.close()

        task = asyncio.ensure_future(answers())
        while data := await reader.read(65536):
            decoder.feed(data)
            while (frame := decoder.next()) is not None:
                self.sent.append(decode_frame(frame))
                if self.after is not None and len(self.sent) > self.after:
                    writer.transport.abort()
                    self._stop.set()
                    return
            to_target.write(data)
        to_target.close()
        await task


@contextmanager
def listening(answer):
    """A server that answers whatever comes with the same bytes, None: nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run():
            try:
                while True:
                    connection, _ = server.accept()
                    connections.append(connection)
                    connection.recv(65536)
                    if answer is not None:
                        connection.sendall(answer)
            except OSError:
                pass

        connections = []
        threading.Thread(target=run, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        for connection in connections:
            connection.close()


def test_nothing_but_reads_is_ever_sent(broker, looks, commit, member):
    broker.create_topic("%DLQ%G", 1)
    commit("G", "T", 3, 2)
    members = member("a", {"G": {"T": "tagA"}}), member("b", {"G": {"T": "tagB"}}, None, "CPP")
    requests = []

    def listen(inside):
        handle = inside.handle

        def recorded(channel, command, now):
            requests.append(command)
            return handle(channel, command, now)

        inside.handle = recorded

    with Forwarder(broker.namesrv_addr) as names:
        broker.call(listen)
        looks(*members, namesrv=names.addr, messages=2, member_timeout_ms=50, times=2)
        looks(*members, namesrv=names.addr, topics=("T",), member_timeout_ms=50)
    joined = [command for command in requests if command.code == RequestCode.HEART_BEAT]
    assert len(joined) == 4, "the members' own: two at each of both"
    ours = {command.code for command in requests if not command.is_response} - {RequestCode.HEART_BEAT}
    ours |= {command.code for command in names.sent}
    assert ours <= READ_CODES
    assert ours >= {21, 26, 28, 33, 43, 105, 106, 201, 202, 203, 208, 300, 307, 321}
    assert not any(command.is_oneway for command in requests)


@pytest.mark.parametrize("code", CHANGING)
def test_any_other_code_is_refused_before_it_is_sent(code):
    async def run():
        async with ReadClient("127.0.0.1:1") as client:
            await client.ask("127.0.0.1:1", code)

    with pytest.raises(ValueError, match="none of those that only read"):
        asyncio.run(run())


def test_no_more_than_the_rate(looks, member):
    one = member("a", {"G": {"T": "*"}})
    (look,) = looks(one, rate=50)
    requests = max(cost.requests for cost in look.cost.values())
    assert look.took_ms >= (requests - 1) * 1000 / 50


def test_the_next_name_server_is_asked_when_one_is_dead(broker, looks):
    (look,) = looks(namesrv=f"127.0.0.1:1;{broker.namesrv_addr}")
    assert list(look.brokers) == ["broker-a"]


@pytest.mark.parametrize("namesrv", ["", "nowhere", "127.0.0.1:", ":9876", "127.0.0.1:x", "127.0.0.1:70000"])
def test_what_is_no_address(namesrv):
    with pytest.raises(BadInput, match="is no HOST:PORT"):
        ReadClient(namesrv)


def test_no_name_server_there(looks):
    with pytest.raises(BadInput, match=r"no name server answers at 127\.0\.0\.1:1 \(no connection: Connection refused"):
        looks(namesrv="127.0.0.1:1")


def test_a_broker_in_place_of_a_name_server(broker, looks):
    with pytest.raises(BadInput, match=rf"{broker.broker_addr} is a broker, not a name server; give"):
        looks(namesrv=broker.broker_addr, timeout_ms=200)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what it sends is not RocketMQ's protocol: a frame of 1213486160 bytes"),
        (None, "no answer within 50 ms"),
    ],
)
def test_something_else_in_place_of_a_name_server(looks, answer, reason):
    with listening(answer) as addr, pytest.raises(BadInput, match=reason):
        looks(namesrv=addr, timeout_ms=50)


def test_a_broker_that_dies_in_the_middle_is_named_and_the_look_ends(broker, looks, member):
    one = member("a", {f"G{number}": {"T": "*"} for number in range(50)})
    with Forwarder(broker.broker_addr, after=60) as proxy:
        broker.call(lambda inside: _register_as(inside, proxy.addr))
        (look,) = looks(one, timeout_ms=200)
    assert set(look.groups) == {f"G{number}" for number in range(50)}
    assert any(addr == proxy.addr and code == 0 for addr, code, _, _ in look.unanswered)
    assert len(look.unanswered) < 20, "not one for each question that was left"
    assert look.took_ms < 3000


def _register_as(inside, addr):
    inside.config.broker_ip1, _, port = addr.rpartition(":")
    inside.config.listen_port = int(port)
    inside.register_broker_all()


def test_a_look_ends_at_its_time_limit_with_what_it_has(looks, member):
    (look,) = looks(member("a", {"G": {"T": "*"}}, answers=None), limit_ms=200, rate=50)
    assert look.took_ms < 2000
    assert "the look was ended after 200 ms" in look.unanswered[-1].reason


ACL = {"accounts": [{"accessKey": "readerkey", "secretKey": "12345678", "admin": True}]}


def test_keys_sign_what_is_asked_and_wrong_ones_are_named(tmp_path):
    good, wrong = tmp_path / "tools.yml", tmp_path / "wrong.yml"
    good.write_text("accessKey: readerkey\nsecretKey: 12345678\n", encoding="utf-8")
    wrong.write_text("accessKey: readerkey\nsecretKey: 87654321\n", encoding="utf-8")
    environment = {"RMQLAB_ACCESS_KEY": "readerkey", "RMQLAB_SECRET_KEY": "12345678"}

    def brokers(hook):
        async def run():
            from rmqlab_tools.doctor.take_snapshot import take_look

            async with ReadClient(served.namesrv_addr, hook=hook) as reader:
                return (await take_look(reader)).brokers

        return asyncio.run(run())

    with rmqlab.serve(acl=ACL) as served:
        assert rmqlab.doctor(served.namesrv_addr, acl=good).look.brokers["broker-a"].settings
        with pytest.raises(BadInput, match="is a broker, not a name server"):
            rmqlab.doctor(served.broker_addr)
        assert brokers(access_keys(good, {}))["broker-a"].settings
        assert brokers(access_keys(None, environment))["broker-a"].settings
        for hook, remark in ((access_keys(wrong, {}), "Check signature failed"), (None, "No accessKey is configured")):
            with pytest.raises(BadInput, match=f"no broker lets this key read: .* refused with code 1: .*{remark}"):
                brokers(hook)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("accessKey: a\n", "secretKey: are wanted"),
        ("- 1\n", "are wanted"),
        ("a: [", "expected"),
        (None, "No such file"),
    ],
)
def test_a_file_without_both_keys(tmp_path, text, reason):
    file = tmp_path / "tools.yml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=reason):
        access_keys(file, {})


def test_keys_of_the_environment_belong_together_and_none_are_needed():
    assert access_keys(None, {}) is None
    with pytest.raises(BadInput, match="belong together"):
        access_keys(None, {"RMQLAB_ACCESS_KEY": "a"})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Give a certificate that signed itself, and its key, as two PEM files."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker"]
    try:
        subprocess.run(
            [*command, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return folder / "cert.pem", folder / "key.pem"


@pytest.mark.parametrize("trusted", [False, True])
def test_a_look_over_tls(broker, looks, member, certificate, tmp_path, trusted):
    cert, key = certificate
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(cert, key)
    settings = tmp_path / "tls.properties"
    settings.write_text(f"tls.client.authServer=true\ntls.client.trustCertPath={cert}\n", encoding="utf-8")
    context = tls_context(settings) if trusted else tls_context()
    with Forwarder(broker.broker_addr, server) as front, Forwarder(broker.namesrv_addr, server) as names:
        broker.call(lambda inside: _register_as(inside, front.addr))
        (look,) = looks(namesrv=names.addr, client={"tls": context})
        assert look.brokers["broker-a"].settings
        with pytest.raises(BadInput, match="no name server answers"):
            looks(namesrv=names.addr, timeout_ms=200)
        strict = tls_context()
        strict.verify_mode = ssl.CERT_REQUIRED
        with pytest.raises(BadInput, match=r"no connection: .*self.signed certificate"):
            looks(namesrv=names.addr, client={"tls": strict})


def test_tls_settings_that_name_no_certificate(tmp_path):
    settings = tmp_path / "tls.properties"
    settings.write_text("tls.client.authServer=true\ntls.client.trustCertPath=/nowhere.pem\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"/nowhere\.pem: No such file"):
        tls_context(settings)
    with pytest.raises(BadInput, match="No such file"):
        tls_context(tmp_path / "none")
