"""The list of texts: nothing of it is left over, what is left out has its reason, and how the texts are read."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from dataclasses import dataclass

import pytest

from rmqlab.checkout import data_path
from rmqlab.errors import BadInput
from rmqlab_tools.doctor.decoder import entries, match
from rmqlab_tools.doctor.line_template import template
from tests.proof.said.entries_said import OWN, said_of_entries, written
from tests.proof.said.java_texts import JavaTexts
from tests.proof.said.other_texts import texts_of
from tests.proof.said.programs import CLIENTS, MODULES
from tests.proof.said.said_list import LISTS, Listed, explained_by, left_out_for, left_over, read, reasons, write
from tests.proof.said.source_trees import files_of_jar, files_of_tag

VALUE = r"\{\w+\}"


def weight(text):
    return template("", text).weight


@pytest.fixture(scope="module")
def listed_texts():
    return [listed for name in LISTS for listed in read(name)]


def test_no_text_is_left_over():
    """Each is explained, or left out for a reason, or has too few words of its own."""
    assert left_over() == []


def test_the_list_is_of_every_program_and_version(listed_texts):
    assert {listed.program for listed in listed_texts} == {module.name for module in MODULES} | {
        client.program for client in CLIENTS
    }
    versions = {version for listed in listed_texts for version in listed.versions.split(", ")}
    assert versions == {"4.8.0", "5.3.3", "5.5.0"} | {client.version for client in CLIENTS}
    assert len(listed_texts) > 4_000
    assert sum(explained_by(listed) is not None for listed in listed_texts if not listed.is_too_short) > 2_900


def test_no_text_is_taken_for_a_looser_one(listed_texts):
    """Where a text fits one with far fewer words, that one's meaning is given for it."""
    same = {"exception-out-of-range", "log-allocate-error", "remark-name-server-not-ready"}  # their values are words
    for listed in listed_texts:
        said = None if listed.is_too_short else match(f"10:30:00 WARN T - {re.sub(VALUE, 'x7', listed.text)}")
        if said is not None and said.entry.id not in same and left_out_for(listed) is None:
            assert weight(said.text) > 0.64 * weight(listed.text), (listed.text, said.text)


def test_each_reason_leaves_something_out(listed_texts):
    used = {left_out_for(listed) for listed in listed_texts if not listed.is_too_short and explained_by(listed) is None}
    assert used == set(reasons())
    assert all(len(reason.why) > 20 for reason in reasons())


def test_what_is_left_out_is_not_about_the_subject(listed_texts):
    """A reason must not swallow what the decoder is for."""
    subject = re.compile(r"heart ?beat|subscri|rebalance|consumer ?group|consume ?offset", re.IGNORECASE)
    java = [listed for listed in listed_texts if not listed.is_too_short and listed.program in {"broker", "client"}]
    out = [listed for listed in java if explained_by(listed) is None and subject.search(listed.text)]
    assert {listed.by.partition(".")[0] for listed in out} <= {"AdminBrokerProcessor", "MQClientAPIImpl"}


def test_entries_say_who_says_them():
    said = said_of_entries()
    for path in data_path("decoder").glob("*.json"):
        data = json.loads(path.read_text("utf-8"))
        assert path.read_text("utf-8") == written(data), path
        for entry in data:
            assert entry["said"] == said.get(entry["id"], entry["said"]), (
                path,
                entry["id"],
                "python -m tests.proof.said",
            )
    assert all(not entry.said or entry.kind not in OWN or entry.id not in said for entry in entries().values())


def test_a_list_is_written_as_it_is_read(tmp_path, listed_texts):
    write("java", (listed for listed in listed_texts if listed.program == "broker"), tmp_path)
    assert set(read("java", tmp_path)) == {listed for listed in listed_texts if listed.program == "broker"}


def test_wordings_of_other_versions_are_known_and_told_as_now():
    count = 0
    for entry in entries().values():
        for older, now in entry.older.items():
            said = match("2016-03-06 18:41:11,425 INFO T - " + re.sub(r"\{(\w+)\}", r"\1", older))
            assert said is not None, older
            assert said.entry is entry, older
            assert now in ("", *entry.texts), older
            assert bool(said.as_now) == bool(now), older
            count += bool(now)
    assert count > 50


JAVA = """
class Greeter {
    private static final Logger log = LoggerFactory.getLogger(LoggerName.FILTER_LOGGER_NAME);
    static final String WHO = "nobody " + "here";
    void greet(Request request) {
        log.warn("hello {}, group: {}", // a comment
            request.getTopic(), new Object[] { group, e });
        log.info("found " + list.size() + " of " + WHO);
        response.setRemark(String.format("the %s is at %d%%", name, 5) + FAQUrl.suggestTodo(FAQUrl.X));
        System.out.printf("%-20s  done%n", request.getClientId());
        throw new MQClientException("topic\\t[" + topic + "] is gone", null);
    }
}
"""


def test_texts_of_java():
    texts = list(JavaTexts(JAVA.encode(), "broker.log").texts(prints=True))
    assert [(text.kind, text.level, text.text) for text in texts] == [
        ("log", "WARN", "hello {topic}, group: {group}"),
        ("log", "INFO", "found {size} of nobody here"),
        ("remark", "", "the {name} is at {value}%"),
        ("print", "", "{client_id}  done"),
        ("exception", "MQClientException", "topic [{topic}] is gone"),
    ]
    assert {(text.place, text.method) for text in texts} == {("Greeter", "greet")}
    assert texts[0].file == "filter.log"
    assert [text.kind for text in JavaTexts(JAVA.encode(), "").texts()] == ["log", "log", "remark", "exception"]


@dataclass
class Source:
    spoken: str
    text: str
    found: list[tuple[str, str, str, str]]


OTHERS = [
    Source(
        "go",
        'package a\nfunc (c *Client) Beat() error {\n  rlog.Warning("beat failed", map[string]interface{}{"a": b})\n'
        '  rlog.Info(fmt.Sprintf("group %s is here", group), nil)\n  return errors.New("no broker")\n}\n',
        [
            ("Beat", "log", "WARN", "beat failed"),
            ("Beat", "log", "INFO", "group {group} is here"),
            ("Beat", "exception", "error", "no broker"),
        ],
    ),
    Source(
        "cpp",
        'void Rebalance::lock(MQ mq) {\n  LOG_ERROR("lock fails of mq:%s" " now", mqs[i].toString().c_str());\n'
        '  THROW_MQEXCEPTION(MQClientException, "no " + name + " here", -1);\n}\n',
        [
            ("lock", "log", "ERROR", "lock fails of mq:{mqs} now"),
            ("lock", "exception", "MQClientException", "no {name} here"),
        ],
    ),
    Source(
        "python",
        'def beat(self):\n    logger.warning(f"{self.name} beat to {to} failed")\n    raise BadError("no " + group)\n',
        [("beat", "log", "WARN", "{name} beat to {to} failed"), ("beat", "exception", "error", "no {group}")],
    ),
]


@pytest.mark.parametrize("source", OTHERS, ids=lambda source: source.spoken)
def test_texts_of_other_languages(source):
    texts = list(texts_of(source.text.encode(), "src/thing.x", source.spoken))
    assert [(text.method, text.kind, text.level, text.text) for text in texts] == source.found
    assert {text.place for text in texts} == {"thing"}


def test_sources_of_a_tag_and_of_a_jar(tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    (tmp_path / "A.java").write_text("class A {}")
    for command in (["init", "-q"], ["add", "A.java"], ["commit", "-qm", "a"], ["tag", "v1"]):
        subprocess.run([*git, *command], check=True)
    assert dict(files_of_tag(tmp_path / ".git", "v1")) == {"A.java": b"class A {}"}
    with pytest.raises(BadInput, match="has the tag v2"):
        list(files_of_tag(tmp_path / ".git", "v2"))
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        jar.writestr("a/A.java", "class A {}")
    assert dict(files_of_jar(tmp_path / "a.jar")) == {"a/A.java": b"class A {}"}


def test_a_text_without_words_of_its_own_is_too_short():
    assert Listed("broker", "A", "b", "log", "INFO", "", "4.8.0", "{request}").is_too_short
    assert not Listed("broker", "A", "b", "log", "INFO", "", "4.8.0", "the group {group} has gone").is_too_short
