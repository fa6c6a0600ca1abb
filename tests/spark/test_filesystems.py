"""Addresses of Azure, Google and HDFS: what they are opened with, and what is wrong with them, without any service.

`tests.proof.emulators` reads stores there; the texts of failures are what Arrow 26 raised at those emulators.
"""

from __future__ import annotations

import base64
import os
import socket
import time

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

import pyarrow as pa

from rmqlab.errors import BadInput
from rmqlab_tools.cli.cli import main
from rmqlab_tools.spark.archived import manifest
from rmqlab_tools.spark.archived.manifest import ArchivedStore, Contents, Place, read_contents, write_contents
from rmqlab_tools.spark.files import filesystems
from rmqlab_tools.spark.files.addresses import place_of_address, shown_address, store_path
from rmqlab_tools.spark.files.broker_stores import given_stores
from rmqlab_tools.spark.files.filesystem_failures import as_os_errors, reason_at

AZURE = "abfs://box@account.dfs.core.windows.net/a?enable_tls=false&blob_storage_authority={}"
NO_FILE = "message was: Cannot open credentials file /x.json error_info={x=with a last message of x})"
KEY = base64.b64encode(b"a key with / + in it: \xff\xff\xff").decode()


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    """No variable of a cloud is set."""
    for name in list(os.environ):
        if name.startswith(("AZURE_", "STORAGE_", "AWS_")):
            monkeypatch.delenv(name)
    return monkeypatch


def options_of(filesystem):
    return filesystem.__reduce__()[1][0]


@pytest.fixture
def answering(monkeypatch):
    """No endpoint is asked."""
    monkeypatch.setattr(filesystems, "_require_answer", lambda _endpoint: None)


def test_google_takes_an_emulator_and_gives_up_in_time(answering, variables):
    filesystem, inner = filesystems.filesystem_at("gs://bucket/a")
    assert inner == "bucket/a"
    assert options_of(filesystem)["retry_time_limit"].total_seconds() == 30
    assert not options_of(filesystem)["anonymous"]
    variables.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:4443/")
    filesystem, _ = filesystems.filesystem_at("gs://bucket/a")
    options = options_of(filesystem)
    assert (options["anonymous"], options["scheme"], options["endpoint_override"]) == (True, "http", "127.0.0.1:4443")
    filesystem, _ = filesystems.filesystem_at("gs://bucket/a?retry_limit_seconds=5&endpoint_override=localhost:1")
    options = options_of(filesystem)
    assert (options["retry_time_limit"].total_seconds(), options["endpoint_override"]) == (5, "localhost:1")


@pytest.mark.parametrize(
    ("address", "values", "option", "value"),
    [
        (AZURE.format("127.0.0.1:1"), {"AZURE_STORAGE_KEY": KEY}, "account_key", KEY),
        (AZURE.format("127.0.0.1:1"), {"AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=x"}, "sas_token", "?sv=1&sig=x"),
        (f"abfs://account:{KEY.replace('/', '%2F').replace('+', '%2B')}@host.local:1/box/a", {}, "account_key", KEY),
        (AZURE.format("127.0.0.1:1"), {"AZURE_STORAGE_KEY": KEY, "AZURE_STORAGE_ACCOUNT": "b"}, "account_key", ""),
        ("abfs://box/a", {"AZURE_STORAGE_KEY": KEY, "AZURE_STORAGE_ACCOUNT": "account"}, "account_key", KEY),
        (AZURE.format("127.0.0.1:1"), {}, "account_key", ""),
    ],
)
def test_azure_takes_keys_and_signatures(answering, variables, address, values, option, value):
    """Arrow takes neither from an address or the environment, and then asks for an identity without a word."""
    for name, text in values.items():
        variables.setenv(name, text)
    filesystem, inner = filesystems.filesystem_at(address)
    assert inner == "box/a"
    assert options_of(filesystem)["account_name"] == "account"
    assert options_of(filesystem)[option] == value


def test_no_secret_of_an_address_is_shown(capsys):
    for secret in (
        "s3://key:sec/ret@bucket/a",
        "abfs://account:sec/ret@host:1/box/a?sig=secret",
        "s3://key:sec@b/a?x=1",
    ):
        assert "sec" not in shown_address(secret)
        assert main(["audit", secret]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert "ret" not in line.partition("; right")[0]
    assert shown_address("hdfs://node:8020/a@b") == "hdfs://node:8020/a@b"
    assert shown_address("abfs://box@account.dfs.core.windows.net/a") == "abfs://box@account.dfs.core.windows.net/a"


def test_an_endpoint_that_does_not_answer_is_left_at_once(variables, monkeypatch, capsys):
    """Clients ask again for minutes: S3's 99 s, Google's 121 s, Azure's 66 s at a deaf port."""
    monkeypatch.setattr(filesystems, "ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as deaf, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        at, nobody = (f"127.0.0.1:{server.getsockname()[1]}" for server in (deaf, closed))
        variables.setenv("AWS_ENDPOINT_URL", f"http://{at}")
        variables.setenv("STORAGE_EMULATOR_HOST", nobody)
        for address, says in (
            ("s3://bucket/deaf", f"nobody answers at {at} within 0 s"),
            (AZURE.format(at), f"nobody answers at {at} within 0 s"),
            (f"abfs://account@{at}/box/a", f"nobody answers at {at} within 0 s"),
            (f"hdfs://{at}/a", f"nobody answers at {at} within 0 s"),
            ("gs://bucket/nobody", f"nobody answers at {nobody} (Connection refused)"),
            (f"s3://b/a?endpoint_override={nobody}", f"nobody answers at {nobody} (Connection refused)"),
        ):
            begin = time.monotonic()
            assert main(["audit", address]) == 2
            (line,) = capsys.readouterr().err.strip().splitlines()
            assert says in line
            assert time.monotonic() - begin < 5


def test_hdfs_without_hadoop_is_one_line(monkeypatch):
    def missing(_address):
        raise OSError("Unable to load libhdfs: ./libhdfs.so: cannot open shared object file\ndlopen(/x) failed: no")

    monkeypatch.setenv("JAVA_HOME", "/java")
    with pytest.raises(OSError, match=r"^Unable to load libhdfs.*needs Hadoop: libhdfs\.so \(HADOOP_HOME or ") as error:
        filesystems._opened_of_hadoop("hdfs://name/a", missing)
    assert "dlopen" not in str(error.value)

    def unknown(_address):
        raise OSError("UnknownHostException: name")

    with pytest.raises(OSError, match=r"^UnknownHostException: name$"):
        filesystems._opened_of_hadoop("hdfs://name/a", unknown)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("google::cloud::Status(UNAVAILABLE: with a last message of Could not create a OAuth2 token. The error "
         + NO_FILE,
         "access is denied: this machine has no credentials that work there (Cannot open credentials file /x.json)"),
        ("google::cloud::Status(PERMISSION_DENIED: Permanent error, with a last message of no error_info={reason=",
         "access is denied: the credentials of this machine may not read it, or there are none"),
        ("Failed to list blobs in b/x: http://h/b?sig=abc Azure Error: [AuthorizationFailure] 403 no.\nRequestId:1",
         "access is denied: the credentials of this machine may not read it, or there are none"),
        ("Check for x on 'http://127.0.0.1:1/a/b' failed. Azure Error: [] Fail to get a new connection for: http://h:1",
         "nobody answers there"),
        ("Unknown error: Check on 'http://h:1/a/b' failed: St13runtime_error: Unexpected end of Base64 encoded string.",
         "access is denied: the account key is none (Unexpected end of Base64 encoded string.)"),
        ("Failed to list https://account.blob.core.windows.net/b?sv=1&sig=secret now",
         "Failed to list https://account.blob.core.windows.net/b now"),
    ],
)  # fmt: skip
def test_reasons_are_one_line_without_what_only_clients_know(text, says):
    with pytest.raises(OSError) as error, as_os_errors():
        raise pa.ArrowException(text)
    assert reason_at(error.value) == says


def test_what_libhdfs_prints_is_its_reason(capfd):
    """It prints stack traces to the standard error by itself, and Arrow then says: Unknown error 255."""
    trace = (
        "hdfsGetPathInfo(/a): error:\norg.apache.hadoop.ipc.StandbyException: not active\n\tat org.apache.X(Y.java:1)\n"
        "Caused by: java.net.ConnectException: Connection refused\n\t... 25 more\n"
    )

    def fail(error):
        with as_os_errors(hdfs=True):
            os.write(2, trace.encode())
            raise error

    with pytest.raises(OSError, match="ConnectException: Connection refused"):
        fail(OSError(255, "HDFS list failed. Detail: [errno 255] Unknown error 255"))
    with pytest.raises(PermissionError, match="denied"):
        fail(PermissionError(13, "Permission denied"))
    with as_os_errors(hdfs=True), as_os_errors(hdfs=True):  # as threads do at a time
        os.write(2, trace.encode())
    os.write(2, b"seen\n")
    assert capfd.readouterr().err == "seen\n"


def test_one_path_at_two_endpoints_is_two_stores(answering):
    """They are told apart by the endpoint, in words too, and an archive keeps them apart."""
    one, other = (f"s3://bucket/b?scheme=http&region=x&endpoint_override=127.0.0.1:{port}" for port in (1, 2))
    stores = given_stores([one, other])
    assert [store.shown for store in stores] == [f"s3://bucket/b?endpoint_override=127.0.0.1:{port}" for port in (1, 2)]
    assert len({store.place for store in stores}) == 2
    assert shown_address(stores[0].place) == "s3://bucket/b"
    assert [store.shown for store in given_stores([one])] == ["s3://bucket/b"]
    with pytest.raises(BadInput, match=r"endpoint_override=127\.0\.0\.1:1 is named twice"):
        given_stores([one, f"x={one}&allow_bucket_creation=false"])
    assert place_of_address(AZURE.format("127.0.0.1:1")).endswith("/a?blob_storage_authority=127.0.0.1:1")
    assert store_path(one).place != store_path(other).place


def test_an_archive_is_read_when_its_writer_was_killed(tmp_path, monkeypatch):
    """Azure and HDFS have an empty file as soon as one is opened: a whole one lies beside it until it is closed."""
    place = Place.of(tmp_path)._replace(is_local=False)
    monkeypatch.setattr(manifest, "_AT_CLOSE", set())
    first, second = (Contents(stores={"key": ArchivedStore("/store", reached)}) for reached in (1, 2))
    write_contents(place, first)
    assert [path.name for path in tmp_path.iterdir()] == ["archive.json"]
    whole = (tmp_path / "archive.json").read_bytes()
    (tmp_path / "archive.json.next").write_bytes(whole[:10])  # killed while it wrote that
    assert read_contents(place, tmp_path) == first
    write_contents(place, second)
    (tmp_path / "archive.json").rename(tmp_path / "archive.json.next")
    (tmp_path / "archive.json").write_bytes(b"")
    assert read_contents(place, tmp_path) == second
