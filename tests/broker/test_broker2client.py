"""Requests of the broker to a client that answers."""

from __future__ import annotations

from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand


def call(bench, channel):
    answers = []
    request = RemotingCommand.request(RequestCode.GET_CONSUMER_RUNNING_INFO)
    bench.broker.broker2client.call_client(channel, request, answers.append)
    return channel.sent[-1], answers


def answer_to(request, remark):
    return RemotingCommand.response(ResponseCode.SUCCESS, remark).reply_to(request)


def test_each_answer_goes_to_whoever_asked(bench):
    one, other = bench.channel(), bench.channel()
    first, first_answers = call(bench, one)
    second, second_answers = call(bench, one)
    assert first.opaque != second.opaque
    bench.broker.handle(one, answer_to(second, "second"), bench.now)
    # The same number from another client means nothing.
    bench.broker.handle(other, answer_to(first, "wrong"), bench.now)
    bench.broker.handle(one, answer_to(first, "first"), bench.now)
    bench.broker.handle(one, answer_to(first, "again"), bench.now)
    assert [one.remark for one in first_answers] == ["first"]
    assert [one.remark for one in second_answers] == ["second"]


def test_after_ten_seconds_there_is_no_answer(bench):
    channel = bench.channel()
    request, answers = call(bench, channel)
    bench.pass_time(9_999)
    assert answers == []
    bench.pass_time(1)
    assert answers == [None]
    bench.broker.handle(channel, answer_to(request, "late"), bench.now)
    assert answers == [None]


def test_an_answer_in_time_is_the_only_one(bench):
    channel = bench.channel()
    request, answers = call(bench, channel)
    bench.broker.handle(channel, answer_to(request, "in time"), bench.now)
    bench.pass_time(20_000)
    assert [one.remark for one in answers] == ["in time"]
