"""Code bases with something wrong: a line that says what, where and what would be right; the rest is judged all the same."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.source import files as files_module
from rmqlab_tools.source.files import decoded
from tests.hostile.test_without_permission import as_nobody

GOOD = {
    "A.java": 'IMPORTS @RocketMQMessageListener(topic = "T", consumerGroup = "g", selectorExpression = "a") class A {}',
    "B.java": 'IMPORTS @RocketMQMessageListener(topic = "T", consumerGroup = "g", selectorExpression = "b") class B {}',
}


def troubles(linted, files, **options):
    """The files that are said not to be read; what is whole is judged as ever."""
    lint = linted(GOOD | files, **options)
    assert [group.verdict for group in lint.groups if group.group == "g"] == ["inconsistent"]
    return [(file, str(why)) for file, why in lint.base.troubles]


def test_a_path_that_is_not_there(linted):
    with pytest.raises(BadInput, match="nowhere: there is no such file or folder; give the folder of a code base"):
        linted(GOOD, sources=["nowhere"])


@pytest.mark.parametrize("text", ["", "class A {}", 'print("rocketmq")', "consumer.subscribe(topic, tag);"])
def test_code_without_rocketmq(linted, text):
    with pytest.raises(BadInput, match="no consumer of RocketMQ is made in 2 files of Java"):
        linted({"A.java": text, "b.py": text})


def test_a_file_that_does_not_parse_is_said_and_read_as_far_as_it_goes(linted):
    broken = 'IMPORTS\n@RocketMQMessageListener(topic = "T", consumerGroup = "h") class C {\n  void f( { \n}'
    lint = linted(GOOD | {"C.java": broken})
    assert [group.group for group in lint.groups] == ["g", "h"]
    assert [(file, str(why)) for file, why in lint.base.troubles] == [
        ("C.java", "line 3 does not parse: what stands there may be missing here")
    ]


def test_files_that_are_no_text(linted):
    said = troubles(linted, {"C.java": b"\x00\x01RocketMQMessageListener", "application.yml": b"\x89PNG\0\0"})
    assert sorted(said) == [("C.java", "is not read: it is no text"), ("application.yml", "is not read: it is no text")]


def test_a_code_base_of_which_nothing_could_be_read(linted):
    with pytest.raises(BadInput, match=r"1 of the files could not, application.yml: does not parse: line"):
        linted({"application.yml": "a: ["})


def test_a_huge_file(linted, monkeypatch):
    monkeypatch.setattr(files_module, "MOST_BYTES", 1000)
    said = troubles(linted, {"C.java": "/" * 1001 + "RocketMQMessageListener"})
    assert said == [("C.java", "is not read: it has more than 1,000 bytes")]


def test_more_files_than_a_code_base_has(linted, monkeypatch):
    monkeypatch.setattr(files_module, "MOST_FILES", 1)
    with pytest.raises(BadInput, match="more than 1 files; give a folder in it"):
        linted(GOOD)


@pytest.mark.skipif(sys.platform == "win32", reason="links of folders need rights there")
def test_loops_of_links_pipes_and_links_that_lead_nowhere(linted, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a.java").symlink_to("b.java")
    (tmp_path / "b.java").symlink_to("a.java")
    (tmp_path / "C.java").symlink_to("A.java")  # read once, by its first name
    os.mkfifo(tmp_path / "d.java")
    lint = linted(GOOD)
    assert [place.file for place in lint.places["g"].values()] == ["A.java", "B.java"]
    assert [file for file, _ in lint.base.troubles] == ["a.java", "b.java"]


def test_a_source_that_is_a_loop(linted, tmp_path):
    (tmp_path / "x").symlink_to("x")
    with pytest.raises(BadInput, match=r"x: (there is no such|cannot be read)"):
        linted(GOOD, sources=["x"])


def test_a_file_that_may_not_be_read(linted, tmp_path):
    """By a user who is not root, whom nothing is forbidden."""
    (tmp_path / "C.java").write_text("RocketMQMessageListener", encoding="ascii")
    linted(GOOD)
    (tmp_path / "C.java").chmod(0)
    tmp_path.chmod(0o755)
    said = as_nobody(lambda: [(file, str(why)) for file, why in linted({}).base.troubles])
    assert said == "read: [('C.java', 'cannot be read (Permission denied)')]"


def test_a_folder_that_may_not_be_read(linted, tmp_path):
    linted(GOOD)
    tmp_path.chmod(0o755)
    (tmp_path / "closed").mkdir(mode=0)
    said = as_nobody(lambda: [(file, str(why)) for file, why in linted({}).base.troubles])
    assert said == "read: [('closed', 'cannot be read (Permission denied)')]"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "gb18030", "utf-16"])
def test_encodings(linted, encoding):
    text = 'import org.apache.rocketmq.spring.annotation.*; /* 订单已支付 */ @RocketMQMessageListener(topic = "订单", consumerGroup = "组") class C {}'
    lint = linted({"C.java": text.encode(encoding)})
    assert [(group.group, group.topics[0].topic) for group in lint.groups] == [("组", "订单")]


def test_bytes_of_no_encoding_are_read_one_by_one():
    assert decoded(b"tag\xff\xfe\x80") == "tag\xff\xfe\x80"


def test_code_that_is_nested_deeper_than_a_person_writes(linted):
    deep = "IMPORTS class C { String s = " + "(" * 3000 + '"a"' + ")" * 3000 + "; void f(DefaultMQPushConsumer c) {} }"
    joined = "IMPORTS class D { static final String S = " + " + ".join(['"a"'] * 5000) + "; }"
    use = 'IMPORTS class E { void f() { var c = new DefaultMQPushConsumer(D.S); c.subscribe("T", "*"); } }'
    lint = linted(GOOD | {"C.java": deep, "D.java": joined, "E.java": use})
    assert [group.group[:3] for group in lint.groups] == ["aaa", "g"]


def test_names_that_lead_through_each_other_end(linted):
    names = {f"N{n}.java": f"class N{n} {{ static final String S = N{n + 1}.S; }}" for n in range(100)}
    use = 'IMPORTS class E { void f() { var c = new DefaultMQPushConsumer("e"); c.subscribe(N0.S, "*"); } }'
    lint = linted(GOOD | names | {"E.java": use})
    assert "leads through more than 60 names" in str(lint.gaps[0].why)


def test_functions_that_call_each_other_end(linted):
    code = """
        IMPORTS class E { void f(String g, String t) { var c = new DefaultMQPushConsumer(g); c.subscribe(t, "*"); g(g, t); }
            void g(String g, String t) { f(g, t); f(t, g); }
            static String a() { return b(); } static String b() { return a(); }
            void h() { f(a(), "T"); } }
    """
    lint = linted(GOOD | {"E.java": code})
    assert lint.gaps


def test_tests_are_left_out_unless_they_are_asked_for(linted):
    files = {"A.java": GOOD["A.java"], "src/test/java/B.java": GOOD["B.java"], "x_test.go": "package x"}
    assert linted(files).base.tests == 2
    assert [str(group.verdict) for group in linted(files).groups] == ["consistent"]
    assert [str(group.verdict) for group in linted(files, tests=True).groups] == ["inconsistent"]


def test_what_others_made_is_left_out(linted):
    files = {f"{folder}/B.java": GOOD["B.java"] for folder in ("target", "node_modules/x", ".git", "vendor/y")}
    assert len(linted({"A.java": GOOD["A.java"]} | files).groups[0].members) == 1


def test_a_group_of_two_repositories(linted):
    files = {"one/A.java": GOOD["A.java"], "two/B.java": GOOD["B.java"]}
    lint = linted(files, sources=["one", "two", "one/A.java"])
    assert [(place.label, place.file) for place in lint.places["g"].values()] == [
        ("A.java:1", "one/A.java"), ("B.java:1", "two/B.java"),
    ]  # fmt: skip


def test_one_name_at_two_clusters_is_two_groups(linted):
    files = {
        name: text.replace("topic", f'nameServer = "{server}", topic', 1)
        for (name, text), server in zip(GOOD.items(), ("a:9876;b:9876", "c:9876"), strict=True)
    }
    assert [group.group for group in linted(files).groups] == ["g @ a:9876;b:9876", "g @ c:9876"]
    near = {"A.java": files["A.java"], "B.java": files["B.java"].replace("c:9876", "127.0.0.1:9876,b:9876")}
    assert [group.group for group in linted(near).groups] == ["g"]


def test_a_socket_is_no_source(linted, tmp_path):
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("no such sockets here")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("S.java") if len(str(tmp_path)) > 80 else listening.bind(str(tmp_path / "S.java"))
        assert troubles(linted, {}) == []


@pytest.mark.parametrize(
    "body",
    [
        'static final String A = B + "x"; static final String B = A;',
        'static final String A = "x" + B; static final String B = "y" + A;',
        'static final String A = String.format("%s", A);',
        'static final String A = b() + "x"; static String b() { return A; }',
    ],
)
def test_a_constant_that_is_joined_of_itself(wishes, body):
    """Not a name alone, but a text with it in it, leads back."""
    listener = 'IMPORTS @RocketMQMessageListener(topic = K.A, consumerGroup = "g") class L {}'
    known, gaps = wishes({"L.java": listener, "K.java": f"class K {{ {body} }}"})
    assert known == []
    assert "leads back to itself" in gaps[0]


def test_texts_that_are_joined_of_more_others_than_a_person_writes(wishes):
    body = " ".join(f'static final String A{n} = A{n + 1} + "x";' for n in range(2000))
    listener = 'IMPORTS @RocketMQMessageListener(topic = K.A0, consumerGroup = "g") class L {}'
    known, gaps = wishes({"L.java": listener, "K.java": f"class K {{ {body} }}"})
    assert known == []
    assert "leads through more than 60 names" in gaps[0]
