"""The scene, running: its clients against any broker, and questions of the test's own to see that all have settled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rmqlab.protocol.bodies import ConsumerConnection, ConsumeStats
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.live.extra.admin_headers import GetConsumerConnectionListRequestHeader, GetConsumeStatsRequestHeader
from rmqlab_tools.live.sockets import SocketRuntime
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame
from tests.doctor.scene import CPP, GROUPS, HUNG, JAVA_4, JAVA_5, PERIOD_MS, RAW, TAGS, TOPICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.doctor.scene import Group, Member

CPP_MEMBERS = Path(__file__).resolve().parent.parent / "interop" / "python" / "cpp_members.py"
ADDRESSES = {JAVA_4: "10.4.8.0", JAVA_5: "10.5.3.3", HUNG: "10.4.8.1", RAW: "10.0.0.1"}
"""What clients say their own address is: the part of a client id before "@"."""
PATIENCE_S = 60.0
_SMALL = ["-Xmx160m", "-Xss512k"]


class JavaClients:
    """A JVM that reads commands (`DoctorScene`): `tell` sends one, `answer` waits for what came of it."""

    def __init__(self, jars, namesrv: str, address: str, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        (home / "conf").mkdir(exist_ok=True)
        (home / "conf" / "logback_tools.xml").write_text('<configuration><root level="OFF"/></configuration>', "utf-8")
        options = [f"-Drocketmq.home.dir={home}", *_SMALL]
        self._errors = (home / "errors.log").open("wb")
        self._process = subprocess.Popen(
            jars.command("DoctorScene", namesrv, address, home=home, options=options),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, bufsize=1,
            cwd=home, env={**os.environ, "ROCKETMQ_HOME": str(home)},  # the admin tool writes where it is started
        )  # fmt: skip
        self._answers: dict[str, queue.SimpleQueue[list[str]]] = defaultdict(queue.SimpleQueue)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout:
            if line.startswith("@"):
                words = line.rstrip("\n").split("\t")
                self._answers["\t".join(words[1 : 2 if words[1] == "held" else 3])].put(words)

    def tell(self, *words: object) -> str:
        """Send a command, and return what `answer` wants to know."""
        self._process.stdin.write("\t".join(map(str, words)) + "\n")
        return "\t".join(map(str, words[:2]))

    def answer(self, about: str) -> list[str]:
        """The answer's words. Fails when it says that something went wrong, or does not come."""
        words = self._answers[about].get(timeout=PATIENCE_S)
        assert words[0] == "@ok", words
        return words[2 if about == "held" else 3 :]

    def ask(self, *words: object) -> list[str]:
        """A command and its answer."""
        return self.answer(self.tell(*words))

    def signal(self, number: int) -> None:
        """Stop the process where it is, or let it go on."""
        self._process.send_signal(number)

    def close(self) -> None:
        """End it; its clients say no good-bye."""
        self._process.kill()
        self._process.wait()
        self._errors.close()


class RawMember:
    """A member that beat once by our codec, and then neither pulls nor answers anybody."""

    def __init__(self, member: Member, group: str, broker: str) -> None:
        now = time.time_ns() // 1_000_000
        wanted = [
            build_subscription(topic, expression, kind, now + member.ahead_ms)
            for topic, (kind, expression) in member.subscribe.items()
        ]
        consumer = ConsumerData(
            group, ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            wanted,
        )  # fmt: skip
        beat = HeartbeatData(f"{ADDRESSES[RAW]}@{member.who}", [], [consumer])
        request = RemotingCommand.request(RequestCode.HEART_BEAT, body=beat.encode())
        host, _, port = broker.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 10)
        self._socket.sendall(encode_frame(request))
        while not (frame := self._read()).is_response:
            pass  # the broker's word that the group has changed
        assert frame.code == 0, frame

    def _read(self) -> RemotingCommand:
        (length,) = struct.unpack(">i", self._socket.recv(4, socket.MSG_WAITALL))
        return decode_frame(self._socket.recv(length, socket.MSG_WAITALL))

    def close(self) -> None:
        """Vanish."""
        self._socket.close()


class CppClients:
    """C++ consumers of some groups, in a process of their own."""

    def __init__(self, namesrv: str, groups: Sequence[Group], home: Path) -> None:
        words = [
            word
            for group in groups
            for member in group.members
            if member.client == CPP
            for topic, (_, tags) in member.subscribe.items()
            for word in (group.name, topic, tags)
        ]
        home.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, str(CPP_MEMBERS), namesrv, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "HOME": str(home)},
        )  # fmt: skip

    def ready(self) -> None:
        """Wait until all are started."""
        for line in self._process.stdout:
            if line.startswith("@ok"):
                return
        raise AssertionError("the C++ clients did not start")

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


class Questions:
    """What the test itself asks of a broker."""

    def __init__(self, broker: str) -> None:
        self.broker = broker

    def _ask(self, requests: Iterable[RemotingCommand]) -> list[RemotingCommand]:
        async def ask() -> list[RemotingCommand]:
            runtime = SocketRuntime()
            try:
                return [await runtime.invoke(self.broker, request, 5_000) for request in requests]
            finally:
                await runtime.aclose()

        return asyncio.run(ask())

    def members(self, groups: Iterable[str]) -> dict[str, set[str]]:
        """Client ids of each group's members (203)."""
        names = list(groups)
        code = RequestCode.GET_CONSUMER_CONNECTION_LIST
        answers = self._ask(
            RemotingCommand.request(code, GetConsumerConnectionListRequestHeader(name)) for name in names
        )
        return {
            name: {str(one.client_id) for one in ConsumerConnection.decode(answer.body or b"{}").connection_set}
            for name, answer in zip(names, answers, strict=True)
        }

    def committed(self, groups: Iterable[str]) -> dict[str, int]:
        """The sum of each group's committed offsets (208)."""
        names = list(groups)
        answers = self._ask(
            RemotingCommand.request(RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequestHeader(name)) for name in names
        )
        return {
            name: sum(
                max(one.consumer_offset, 0) for one in ConsumeStats.decode(answer.body or b"{}").offset_table.values()
            )
            for name, answer in zip(names, answers, strict=True)
        }

    def set(self, **settings: object) -> None:
        """Change the broker's settings while it runs (25)."""
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        (answer,) = self._ask([RemotingCommand.request(RequestCode.UPDATE_BROKER_CONFIG, body=lines.encode())])
        assert answer.code == 0, answer


class RunningScene:
    """All clients of the groups, started; a context manager. `jars` gives those of a version."""

    def __init__(self, jars, home: Path, namesrv: str, broker: str, groups: Sequence[Group] = GROUPS) -> None:
        self.home, self.namesrv, self.groups = home, namesrv, groups
        self.questions = Questions(broker)
        self._stack = contextlib.ExitStack()
        versions = {JAVA_4: "4.8.0", JAVA_5: "5.3.3", HUNG: "4.8.0"}
        self.java = {}
        for client, version in versions.items():
            self.java[client] = JavaClients(jars(version), namesrv, ADDRESSES[client], home / f"clients-{client}")
            self._stack.callback(self.java[client].close)

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        four = self.java[JAVA_4]
        for about in [four.tell("topic", topic, queues) for topic, queues in TOPICS.items()]:
            four.answer(about)
        for topic in TOPICS:
            four.ask("produce", topic, ",".join(TAGS), PERIOD_MS)
        waiting = []
        cpp = CppClients(self.namesrv, self.groups, self.home / "clients-cpp")
        self._stack.callback(cpp.close)
        for group in self.groups:
            for member in group.members:
                if member.client in self.java:
                    waiting.append((member.client, self.tell_start(group, member)))
                elif member.client == RAW:
                    raw = RawMember(member, group.name, self.questions.broker)
                    self._stack.callback(raw.close)
        for client, about in waiting:
            self.java[client].answer(about)
        cpp.ready()

    def tell_start(self, group: Group, member: Member) -> str:
        """Start a Java member; answered later."""
        return self.java[member.client].tell("start", member.who, group.name, member.start_line())

    def wait_settled(self) -> None:
        """Wait until every member is known, all queues stay where they are, and every group has come forward."""
        wanted = {group.name: len(group.members) for group in self.groups}

        def known() -> dict[str, int]:
            return {name: len(ids) for name, ids in self.questions.members(wanted).items()}

        until(lambda: known() == wanted, "members", known)
        before = None
        for _ in range(20):
            held = [self.java[client].ask("held") for client in (JAVA_4, JAVA_5)]
            if held == before:
                break
            before = held
            time.sleep(1.5)
        moving = [group.name for group in self.groups if any(one.mode == "clustering" for one in group.members)]

        def standing() -> list[str]:
            return [name for name, committed in self.questions.committed(moving).items() if committed == 0]

        until(lambda: not standing(), "offsets", standing)

    def wait_moved(self) -> None:
        """Wait until messages of every tag were sent and the groups that can move have committed past them."""
        moving = [one.name for one in self.groups if one.healthy and one.name != "Broadcast"]
        moving += ["Article", "Wider"]
        before = self.questions.committed(moving)

        def standing() -> list[str]:
            return [name for name, now in self.questions.committed(moving).items() if now < before[name] + 12]

        until(lambda: not standing(), "moving offsets", standing)

    def hang(self) -> None:
        """Stop the process of the members that hang."""
        self.java[HUNG].signal(signal.SIGSTOP)

    def mqadmin(self, *words: str, client: str = JAVA_4) -> str:
        """What the real admin tool prints of the cluster."""
        number = time.monotonic_ns()
        (text,) = self.java[client].ask("mqadmin", number, *words, "-n", self.namesrv)
        return text.replace("\\n", "\n")


def until(condition: Callable[[], bool], what: str, seen: Callable[[], object]) -> None:
    """Ask again and again. Fails after a minute, and tells what was seen."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}: {seen()}"
        time.sleep(0.2)
