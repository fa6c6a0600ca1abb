"""TLS on the ports of broker and name server: the first byte of a connection decides, as 4.8.0 does by default."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys

import pytest

import rmqlab
from rmqlab.client.runtime import RemotingConnectError, RemotingError, RemotingTimeoutError
from rmqlab.errors import BadInput
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.live.sockets import SocketRuntime
from rmqlab_tools.live.tls import TlsConfig, self_signed


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    pytest.importorskip("cryptography", reason="no cryptography to make a certificate with: pip install 'rmqlab[tls]'")
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    path.write_bytes(self_signed())
    return path


def trusting(pem=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE if pem is None else ssl.CERT_REQUIRED
    if pem is not None:
        context.load_verify_locations(pem)
    return context


def ask(address, code=RequestCode.GET_ALL_TOPIC_CONFIG, *, tls=None, patience=3000):
    async def run():
        runtime = SocketRuntime(tls=tls)
        try:
            return await runtime.invoke(address, RemotingCommand.request(code), patience)
        finally:
            await runtime.aclose()

    return asyncio.run(run())


@pytest.mark.usefixtures("pem")
def test_broker_vip_and_name_server_take_both_on_the_same_port():
    with rmqlab.serve() as broker:
        host, _, port = broker.broker_addr.rpartition(":")
        for tls in (None, trusting()):
            assert b"TBW102" in ask(broker.broker_addr, tls=tls).body
            assert b"TBW102" in ask(f"{host}:{int(port) - 2}", tls=tls).body
            assert b"listenPort" in ask(broker.namesrv_addr, RequestCode.GET_NAMESRV_CONFIG, tls=tls).body


def test_messages_larger_than_a_record_of_tls_come_whole(pem):
    """A megabyte there, and twenty answers at once back."""

    async def run(address):
        runtime = SocketRuntime(tls=trusting())
        try:
            value = f"longPollingEnable=true\n{'#' * 1_000_000}\ndefaultQueryMaxNum=7\n".encode()
            request = RemotingCommand.request(RequestCode.UPDATE_BROKER_CONFIG, body=value)
            assert (await runtime.invoke(address, request, 5000)).code == 0
            asked = [RemotingCommand.request(RequestCode.GET_BROKER_CONFIG) for _ in range(20)]
            return await asyncio.gather(*(runtime.invoke(address, request, 5000) for request in asked))
        finally:
            await runtime.aclose()

    with rmqlab.serve(**{"tls.server.certPath": pem, "tls.server.keyPath": pem}) as broker:
        assert all(b"defaultQueryMaxNum=7" in answer.body for answer in asyncio.run(run(broker.broker_addr)))


def test_a_certificate_of_ones_own_is_checked_by_clients_and_enforced_on_them(pem, caplog):
    settings = {"tls.server.certPath": pem, "tls.server.keyPath": pem, "tls.server.mode": "enforcing"}
    with rmqlab.serve(**settings) as broker, caplog.at_level(logging.WARNING):
        assert ask(broker.broker_addr, tls=trusting(pem)).body
        with pytest.raises(RemotingTimeoutError):
            ask(broker.broker_addr, patience=200)
    assert "began without a TLS handshake, and TLS is enforced here" in caplog.text


def test_off_means_off(caplog):
    with rmqlab.serve(**{"tls.server.mode": "disabled"}) as broker, caplog.at_level(logging.WARNING):
        assert ask(broker.broker_addr).body
        with pytest.raises(RemotingConnectError):
            ask(broker.broker_addr, tls=trusting())
    assert "TLS is off here" in caplog.text


def test_without_a_certificate_and_the_package_the_log_says_what_is_missing(monkeypatch, caplog):
    for name in ("cryptography", "cryptography.x509"):
        monkeypatch.setitem(sys.modules, name, None)
    with rmqlab.serve() as broker, caplog.at_level(logging.WARNING):
        assert ask(broker.broker_addr).body
        with pytest.raises(RemotingConnectError):
            ask(broker.broker_addr, tls=trusting())
    assert "TLS needs a certificate: give tls.server.certPath and tls.server.keyPath" in caplog.text
    assert "pip install 'rmqlab[tls]'" in caplog.text


@pytest.mark.usefixtures("pem")
def test_bytes_that_only_begin_like_tls_end_that_connection_alone(caplog):
    with rmqlab.serve() as broker, caplog.at_level(logging.WARNING):
        host, _, port = broker.broker_addr.rpartition(":")
        with socket.create_connection((host, int(port)), 3) as wire:
            wire.sendall(b"\x16\x03\x01\x00\x05hello")
            while wire.recv(100):
                pass
        assert ask(broker.broker_addr).body
    assert "closed: TLS: " in caplog.text


def test_client_certificates_can_be_demanded(pem):
    settings = {
        "tls.server.certPath": pem, "tls.server.keyPath": pem, "tls.server.authClient": "true",
        "tls.server.need.client.auth": "require", "tls.server.trustCertPath": pem,
    }  # fmt: skip
    with rmqlab.serve(**settings) as broker:
        known = trusting()
        known.load_cert_chain(pem)
        assert ask(broker.broker_addr, tls=known).body
        with pytest.raises(RemotingError):
            ask(broker.broker_addr, tls=trusting(), patience=300)


def test_settings_that_cannot_be_right_are_refused(tmp_path, pem):
    with pytest.raises(BadInput, match=r"tls.server.mode is 'permisive'; right is one of disabled, permissive, enforc"):
        TlsConfig.of({"tls.server.mode": "permisive"}, "settings")
    with pytest.raises(BadInput, match=r"tls.server.keyPath is missing"):
        TlsConfig.of({"tls.server.certPath": str(pem)}, "settings")
    nothing = str(tmp_path / "none.pem")
    with pytest.raises(BadInput, match=r"TLS: .*none.pem"):
        TlsConfig.of({"tls.server.certPath": nothing, "tls.server.keyPath": nothing}, "settings")
    with pytest.raises(BadInput, match=r"did you mean tls.server.certPath"):
        rmqlab.serve(**{"tls.server.certpath": pem})
