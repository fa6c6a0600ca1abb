"""Which files of which versions are looked at: the packages about subscriptions, filters, heartbeats and offsets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tests.proof.said.java_texts import JavaTexts
from tests.proof.said.other_texts import Spoken, texts_of
from tests.proof.said.said_list import Listed
from tests.proof.said.source_trees import files_of_jar, files_of_tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.proof.said.said_text import SaidText


class Module(NamedTuple):
    """A module of RocketMQ: the files of it that are looked at, by the path behind org/apache/rocketmq, and its log."""

    name: str
    files: str
    log: str


MODULES: Final = (
    Module("broker", r"broker/(client|processor|longpolling|filter|offset|subscription|pop|coldctr)/", "broker.log"),
    Module("client", r"client/(consumer|common|exception)/|client/impl/(?!producer/)|client/(Validators|MQHelper)",
           "rocketmq_client.log"),
    Module("common", r"common/(filter|stats)/", "broker.log"),
    Module("filter", r"filter/", "filter.log"),
    Module("namesrv", r"namesrv/(routeinfo|processor)/", "namesrv.log"),
    Module("proxy", r"proxy/(common|processor|grpc|remoting|service)/", "proxy.log"),
    Module("remoting", r"remoting/(protocol/filter|netty|common|exception)/", "remoting.log"),
    Module("store", r"store/(DefaultMessageStore|ConsumeQueueExt)\.java", "store.log"),
    Module("tools", r"tools/(admin|monitor)/|tools/command/(consumer|offset|connection|stats)/", "tools.log"),
)  # fmt: skip
TAGS: Final = {"4.8.0": "rocketmq-all-4.8.0", "5.3.3": "rocketmq-all-5.3.3"}
JARS: Final = "5.5.0"


class Client(NamedTuple):
    """A client that is not RocketMQ's own Java client: its repository, tag, name, language, and the files of it."""

    repository: str
    tag: str
    version: str
    spoken: Spoken | Literal["java"]
    files: str

    @property
    def program(self) -> str:
        """The version without its number: "Go", "gRPC Java"."""
        return re.sub(r" [\d.]+$", "", self.version)


CLIENTS: Final = (
    Client("rocketmq-client-go", "v2.1.2", "Go 2.1.2", "go",
           r"(consumer|errors)/|internal/(client|model|namesrv|route|validators)\.go|internal/remote/remote_client"),
    Client("rocketmq-client-go", "v2.0.0", "Go 2.0.0", "go",
           r"(consumer|errors)/|internal/(client|model|namesrv|route|validators)\.go|internal/remote/remote_client"),
    Client("rocketmq-client-cpp", "2.2.0", "C++ 2.2.0", "cpp", r"src/(consumer/|MQClient|common/DefaultMQClient)"),
    Client("rocketmq-client-cpp", "1.2.4", "C++ 1.2.4", "cpp", r"src/(consumer/|MQClient)"),
    Client("rocketmq-client-cpp", "re_dev", "C++ 3.0.0", "cpp", r"src/(consumer/|MQClient|ClientRemotingProcessor)"),
    Client("rocketmq-client-python", "v2.0.0", "Python 2.0.0", "python", r"rocketmq/"),
    Client("rocketmq-clients", "HEAD", "gRPC Java", "java",
           r"java/client/src/main/.*/(impl/(consumer/|Client\w*\.java)|route/)"),
    Client("rocketmq-clients", "HEAD", "gRPC Go", "go",
           r"golang/(client|\w*consumer\w*|process_queue|loadBalancer)\.go"),
    Client("rocketmq-clients", "HEAD", "gRPC C++", "cpp",
           r"cpp/source/(rocketmq/\w*(Consum|Process|Client|Receive|Ack|Assign|Filter|Telemetry)\w*\.|client/\w*\.)"),
    Client("rocketmq-clients", "HEAD", "gRPC Python", "python", r"python/rocketmq/(?!grpc_protocol|test)"),
)  # fmt: skip
_ENDS: Final = {"go": (".go",), "cpp": (".cpp", ".h"), "python": (".py",), "java": (".java",)}
_TEST: Final = re.compile(r"(^|/)(test|tests|mock|mocks|example|examples|benchmark)/|_test\.|Test\.java|mock|_pb2")


def java_list(repository: Path, jars: Path) -> Iterator[Listed]:
    """What 4.8.0 and 5.3.3 of a git directory, and 5.5.0 of jars of sources say."""
    versions_of: dict[tuple[str, SaidText], list[str]] = {}
    for version, tag in TAGS.items():
        for path, source in files_of_tag(repository, tag):
            if "/src/main/java/" in path:
                _add(versions_of, path.partition("/")[0], version, path, source)
    for jar in sorted(jars.glob(f"rocketmq-*-{JARS}-sources.jar")):
        for path, source in files_of_jar(jar):
            _add(versions_of, jar.name.removeprefix("rocketmq-").partition("-")[0], JARS, path, source)
    yield from _rows(versions_of)


def _add(versions_of: dict[tuple[str, SaidText], list[str]], name: str, version: str, path: str, source: bytes) -> None:
    module = next((known for known in MODULES if known.name == name), None)
    inner = path.rpartition("org/apache/rocketmq/")[2]
    if module is not None and path.endswith(".java") and re.match(module.files, inner):
        for text in JavaTexts(source, module.log).texts(prints=name == "tools"):
            versions_of.setdefault((name, text), []).append(version)


def client_list(mirrors: Path) -> Iterator[Listed]:
    """What the other clients say; each repository is a git directory `mirrors`/NAME."""
    versions_of: dict[tuple[str, SaidText], list[str]] = {}
    for client in CLIENTS:
        for path, source in files_of_tag(mirrors / client.repository, client.tag):
            if not path.endswith(_ENDS[client.spoken]) or _TEST.search(path) or not re.match(client.files, path):
                continue
            texts = JavaTexts(source, "").texts() if client.spoken == "java" else texts_of(source, path, client.spoken)
            for text in texts:
                versions_of.setdefault((client.program, text), []).append(client.version)
    yield from _rows(versions_of)


def _rows(versions_of: dict[tuple[str, SaidText], list[str]]) -> Iterable[Listed]:
    for (program, text), versions in versions_of.items():
        said = ", ".join(dict.fromkeys(versions))
        yield Listed(program, text.place, text.method, text.kind, text.level, text.file, said, text.text)
