"""Chinese as an engineer in China writes it: words that came word by word from English are named, good ones pass."""

from __future__ import annotations

import json

import pytest

from rmqlab.checkout import ROOT
from tests.proof.catalogue.terms import foreign


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("一份订阅，而 B 的更新，所以它丢弃每一条 tagA", "B 的版本更新，于是所有 tagA 消息都被丢弃"),
        ("只要内核就能到处使用的有", "只装核心依赖就能使用的有"),
        ("一个组的两个消费者要两个不同的标签", "同一个消费者组的两个消费者订阅了两个不同的 Tag"),
        ("给出同样的字节", "输出逐字节相同"),
        ("它只提问，别的什么都不发", "只发查询请求，不做任何修改"),
        ("现在，一个活的集群里谁在丢消息", "线上集群中，哪个消费者组正在丢消息"),
        ("六条没有到任何人手里。没有任何东西报告", "其中 6 条没有任何消费者收到，也没有任何告警或日志"),
        ("队列按客户端标识的顺序分发", "队列按客户端 ID 的顺序分配"),
        ("它们所在的队列归不要它们的人；哪个队列归谁", "它们所在队列的归属者并没有订阅它们"),
        ("也照样不声不响地应答", "Broker 照样应答，也不报错"),
        ("药方在这里", "正确做法"),
        ("成员沉默两分钟，Broker 就把它忘掉", "成员两分钟没有心跳，Broker 就将其移除"),
        ("机器没了，就什么都不会关闭", "机器断电时，连接不会被关闭"),
        ("拉取保不住命", "只拉取而没有心跳，照样会被移除"),
        ("有人手工把位点往前调", "有人把位点调大"),
        ("没有谁得到通知", "不通知任何成员"),
        ("一个槽位装不下两个愿望", "一个槽位只能放一份订阅关系"),
        ("真实的代理服务器", "真实的 Broker"),
        ("打开笔记本", "打开 Notebook；每个学员一台笔记本电脑"),
    ],
)
def test_a_habit_is_named_and_the_better_sentence_passes(before, after):
    assert foreign(before) != []
    assert foreign(after) == []


def test_a_title_of_an_article_and_code_are_quoted_as_they_stand():
    assert foreign("见[标签过滤](../data/articles/README.md#f-2)和 `标签`") == []


def test_the_playgrounds_use_the_same_words():
    words = json.loads((ROOT / "docs" / "playgrounds" / "words.json").read_text(encoding="utf-8"))["zh"]
    said = {f"{part}.{name}": foreign(text) for part, texts in words.items() for name, text in texts.items()}
    assert {name: wrong for name, wrong in said.items() if wrong} == {}


def test_readme_says_how_the_language_is_chosen_and_where_a_mirror_is_set():
    text = (ROOT / "README.zh.md").read_text(encoding="utf-8")
    named = ["RMQLAB_LANG", "`LANGUAGE`", "`LC_ALL`", "`LC_MESSAGES`", "`LANG`", "`PIP_INDEX_URL`"]
    assert sorted(named, key=text.index) == named
