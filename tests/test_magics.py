"""`%load_ext rmqlab`: the magics answer as the functions do, and what is wrong is one line."""

from __future__ import annotations

import pytest

interactive = pytest.importorskip(
    "IPython.core.interactiveshell", reason="IPython is not installed: ./lab test does it"
)


@pytest.fixture(scope="module")
def shell():
    made = interactive.InteractiveShell()
    made.run_cell("%load_ext rmqlab").raise_error()
    return made


def test_sql92(shell):
    answer = shell.run_cell("%%sql92 a=5\na > 3\n AND b IS NULL").result
    assert (answer.accepted, answer.matches) == (True, True)
    assert not shell.run_cell("%%sql92\na >").result.accepted
    assert shell.run_cell("%%sql92 --version 5.5.0\na STARTSWITH 'x'").result.accepted


def test_lint_of_members(shell):
    answer = shell.run_cell("%lint A:T=tagA 'B:T=SQL92:a > 3'").result
    assert str(answer.verdict) == "inconsistent"


def test_lint_of_code(shell, tmp_path):
    pytest.importorskip("tree_sitter_python", reason="the extra `source` is not installed: ./lab test installs it")
    code = 'from rocketmq.client import PushConsumer\nc = PushConsumer("g")\nc.subscribe("T", print, "{}")\n'
    for name in "ab":
        (tmp_path / f"{name}.py").write_text(code.format(name), encoding="ascii")
    answer = shell.run_cell(f"%lint '{tmp_path.as_posix()}'").result
    assert str(answer.verdict) == "inconsistent"
    assert repr(answer).startswith("g: Inconsistent: the members want different messages. (2 members)")


def test_lint_of_code_with_a_profile_and_tests(shell, tmp_path, monkeypatch):
    pytest.importorskip("tree_sitter_java", reason="the extra `source` is not installed: ./lab test installs it")
    monkeypatch.chdir(tmp_path)
    listener = (
        '@org.apache.rocketmq.spring.annotation.RocketMQMessageListener(topic = "T", consumerGroup = "${g}") class L {}'
    )
    for name, text in [("test/L.java", listener), ("application-prod.yml", "g: orders")]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    answer = shell.run_cell("%lint . --profile prod --tests").result
    assert [group.group for group in answer.groups] == ["orders"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [("%lint", "UsageError: %lint needs members"), ("%%sql92 a\na > 3", "UsageError: %%sql92: 'a' is no property"),
     ("%lint nowhere", "UsageError: nowhere: there is no such file or folder"), ("%lint A:T=SQL92:a>", "UsageError: "),
     ("%lint A:T=a A:T=b", "UsageError: 'A:T=b': A has a subscription of T already"),
     ("%lint . --profil prod", "UsageError: %lint: --profil: its options are --profile NAME and --tests"),
     ("%lint A:T=a --tests", "UsageError: --profile and --tests are of code bases"),
     ("%lint A:=a", "UsageError: 'A:=a': a subscription is CLIENT:TOPIC=EXPRESSION")],
)  # fmt: skip
def test_what_is_wrong_is_one_line(shell, cell, said, capsys):
    shell.run_cell(cell)
    out, err = capsys.readouterr()
    assert (out + err).startswith(said)
    assert (out + err).count("\n") == 1
