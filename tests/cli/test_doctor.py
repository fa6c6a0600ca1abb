"""`rmqlab doctor` on the command line: statuses, JSON, watch, report; bad input in one line."""

from __future__ import annotations

import json
import re
import socket

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.cli.arguments import MAX_SECONDS
from rmqlab_tools.cli.cli import main
from rmqlab_tools.doctor.doctor import Doctor


@pytest.fixture(scope="module")
def broker():
    with rmqlab.serve() as served:
        served.create_topic("T", 2)
        served.consumer("A", group="healthy", subscribe={"T": "tagA || tagB"})
        served.consumer("B", group="healthy", subscribe={"T": "tagB||tagA"})
        yield served


@pytest.fixture(scope="module")
def sick():
    with rmqlab.serve() as served:
        served.create_topic("T", 2)
        served.consumer("A", group="sick", subscribe={"T": "tagA"})
        served.consumer("B", group="sick", subscribe={"T": "tagB"})
        yield served


def test_a_healthy_cluster(broker, capsys):
    assert main(["doctor", "--namesrv", broker.namesrv_addr]) == 0
    assert capsys.readouterr().out == "healthy: healthy\n"


def test_a_sick_group_as_text_json_and_page(sick, capsys, tmp_path):
    told = tmp_path / "told.json"
    assert main(["doctor", "--namesrv", sick.namesrv_addr, "--json", str(told), "--report", str(tmp_path)]) == 3
    said = capsys.readouterr().out
    assert said.startswith("sick: at risk, 2 members\n")
    assert re.search(r"rmqlab plan tag[AB] tag[AB] --members 2 --queues 2", said)  # the one stamped last is the newer
    result = json.loads(told.read_text("ascii"))
    assert (result["status"], [group["group"] for group in result["groups"]]) == (3, ["sick"])
    assert "different_subscriptions" in [finding["kind"] for finding in result["groups"][0]["findings"]]
    assert re.search(r"sick, \w+: at risk", (tmp_path / "index.html").read_text("utf-8"))


def test_watch_shows_a_table_a_look(sick, capsys):
    assert main(["doctor", "--namesrv", sick.namesrv_addr, "--watch", "0.2", "--looks", "2", "--metrics", "0"]) == 3
    said = capsys.readouterr()
    assert said.out.count("what is wrong") == 2
    assert "/metrics" in said.err


def test_looks_are_saved_and_judged_again(sick, capsys, tmp_path):
    assert (
        main(["doctor", "--namesrv", sick.namesrv_addr, "--looks", "2", "--every", "0.1", "--save", str(tmp_path)]) == 3
    )
    said = capsys.readouterr().out
    looks = sorted(map(str, tmp_path.iterdir()))
    assert len(looks) == 2
    assert main(["doctor", "--recorded", *looks]) == 3
    assert capsys.readouterr().out == said
    group = rmqlab.doctor(recorded=looks).groups[0].group
    assert main(["doctor", "--recorded", *looks, "--group", group]) == 3
    capsys.readouterr()
    assert main(["doctor", "--recorded", *looks, "--group", group + "x"]) == 2
    assert f"did you mean {group}?" in capsys.readouterr().err
    for wrong in (reversed(looks), [looks[0], looks[0]]):
        assert main(["doctor", "--recorded", *wrong]) == 2, "it would prove what was not seen"
        assert f"{looks[0]}: not later than {tmp_path}" in capsys.readouterr().err
    assert main(["doctor", "--recorded", *looks, "--topic", "T"]) == 2
    assert "name a group instead" in capsys.readouterr().err
    broken = tmp_path / "broken.json"
    broken.write_text('{"namesrv": 5, "what": 1}')
    assert main(["doctor", "--recorded", str(broken)]) == 2
    assert "broken.json: no look is in it" in capsys.readouterr().err


def test_a_look_that_cannot_be_done_leaves_the_one_before(capsys, monkeypatch, broker):
    first = Doctor.look

    def gone(self):
        if self.diagnosis is not None:
            raise BadInput("no name server answers")
        return first(self)

    monkeypatch.setattr(Doctor, "look", gone)
    assert main(["doctor", "--namesrv", broker.namesrv_addr, "--looks", "2", "--every", "0.1"]) == 4
    said = capsys.readouterr()
    assert said.out == "healthy: healthy\n"
    assert "no further look, the last one is judged: no name server answers" in said.err


def test_metrics_alone_look_again_and_again(sick, capsys):
    arguments = ["--namesrv", sick.namesrv_addr, "--metrics", "0", "--every", "0.1", "--looks", "2"]
    assert main(["doctor", *arguments]) == 3
    assert capsys.readouterr().out.count("what is wrong") == 2


def test_the_function_reads_the_same(sick):
    assert rmqlab.doctor(sick.namesrv_addr, groups=["sick"], looks=2, every=0.1).status == 3


@pytest.mark.parametrize("every", [0, float("inf"), float("nan")])
def test_a_time_between_looks_that_no_clock_can_wait_for_is_refused(every):
    with pytest.raises(
        rmqlab.BadInput, match=f"every is {every:g}: the seconds between two looks are above 0, and at most"
    ):
        rmqlab.doctor("127.0.0.1:1", looks=2, every=every)


def test_the_function_waits_as_long_as_the_verb_may():
    with pytest.raises(rmqlab.BadInput, match="no name server answers"):
        rmqlab.doctor("127.0.0.1:1", every=MAX_SECONDS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--namesrv", "nowhere"], "HOST:PORT"),
        (["--looks", "0"], "--looks 0: 1 or more"),
        (["--rate", "0"], "rate is 0"),
        (["--look", "-1"], "-1"),
    ],
)
def test_bad_arguments_are_one_line(arguments, said, capsys):
    assert main(["doctor", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_nobody_there_is_one_line(capsys):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert main(["doctor", "--namesrv", f"127.0.0.1:{port}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"rmqlab doctor: no name server answers at 127.0.0.1:{port}")
    assert err.count("\n") == 1


def test_a_group_that_is_not_there_is_one_line(sick, capsys):
    assert main(["doctor", "--namesrv", sick.namesrv_addr, "--group", "sik"]) == 2
    assert "sick" in capsys.readouterr().err


def test_a_metrics_port_in_use_is_one_line(sick, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["doctor", "--namesrv", sick.namesrv_addr, "--watch", "1", "--metrics", str(port)]) == 2
    assert f"--metrics {port}" in capsys.readouterr().err
