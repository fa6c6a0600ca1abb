"""conform: all golden vectors pass, every changed one is noticed, bad input is named."""

from __future__ import annotations

import copy
import gzip
import json
from importlib.util import find_spec

import pytest

from rmqlab_tools.cli.cli import main
from tests.proof.conform import conformance as conform_module
from tests.proof.conform.conformance import FAMILIES, BadVectors, conform, kinds_of
from tests.proof.conform.vectors import BadVector, Difference, Kind, compare, from_hex, take

pytestmark = pytest.mark.slow

IMPLEMENTED = [family for family, module in FAMILIES.items() if find_spec(module) is not None]
LEAVES = 40  # of one vector; a store session has thousands
# What stays unnoticed, and why.
UNDECIDED = {
    ("record", "crc_from_body"),  # a CRC of 0 for an empty body: nothing tells whether it was computed
    ("remoting", "header_text"),  # None where the payload cannot be read: the recorder may have left the text out
    *(("filter_bitmap", "consumers", name) for name in ("group", "topic", "expr", "type")),  # given, not expected
}


def vectors_of(golden, family):
    with (golden / "vectors" / f"{family}.jsonl").open() as lines:
        return [json.loads(line) for line in lines]


def kind_of(family, vector):
    kinds = kinds_of(family)
    return kinds[""] if "" in kinds else kinds[vector["kind"]]


def leaves(value, path=()):
    """Paths to everything in a JSON value that holds nothing more."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not value or not isinstance(value, dict | list):
        yield path
    for key, part in inner:
        yield from leaves(part, (*path, key))


def at(vector, path):
    for key in path:
        vector = vector[key]
    return vector


def changed(vector, path, value):
    vector = copy.deepcopy(vector)
    at(vector, path[:-1])[path[-1]] = value
    return vector


def other_values(value):
    """Values that are not `value`: one near it and one of another type."""
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, int):
        return [value + 1, str(value)]
    if isinstance(value, str):
        return [f"{value}0", None]
    return ["x", 0] if value is None else [None, "x"]


def write(folder, name, *vectors):
    path = folder / name
    path.write_text("".join(f"{json.dumps(vector)}\n" for vector in vectors), encoding="ascii")
    return path


@pytest.fixture
def two(golden):
    """Two vectors of different kinds of one family."""
    vectors = vectors_of(golden, "properties")
    return [next(vector for vector in vectors if vector["kind"] == kind) for kind in ("to_string", "from_string")]


@pytest.mark.parametrize("path", [*(f"vectors/{family}" for family in IMPLEMENTED), "vectors-2/remoting"])
def test_all_golden_vectors_pass(golden, path):
    [result] = conform(golden / f"{path}.jsonl").values()
    assert result.failures == []
    assert result.passed == result.total > 0


@pytest.mark.parametrize("family", IMPLEMENTED)
def test_every_change_of_an_expected_field_is_noticed(golden, family):
    """One vector of each kind and generator family: each of its expected leaves is changed in two ways."""
    samples = {(sample.get("kind"), sample.get("family")): sample for sample in vectors_of(golden, family)}
    tried = 0
    for vector in samples.values():
        kind = kind_of(family, vector)
        assert kind.differences(vector) == []
        places = [(name, *path) for name in kind.expected for path in leaves(vector[name])]
        for place in places[:: -(-len(places) // LEAVES)]:
            for value in other_values(at(vector, place)):
                tried += 1
                try:
                    differences = kind.differences(changed(vector, place, value))
                except BadVector as error:
                    assert error.field  # noqa: PT017 - refusing is noticing, too
                else:
                    names = (family, *(key for key in place if isinstance(key, str)))
                    assert differences or names in UNDECIDED, (vector["case"], place, value)
    assert tried >= 2 * len(samples)


def test_every_field_of_a_golden_vector_has_a_part(golden):
    """Each field is given, expected or ignored with a reason; a field cannot be forgotten."""
    for family in IMPLEMENTED:
        for vector in vectors_of(golden, family):
            kind_of(family, vector).check(vector)
        for kind in kinds_of(family).values():
            assert all(len(reason) > 20 for reason in kind.ignored.values())
            assert not set(kind.ignored) & {*kind.given, *kind.expected}


def test_a_changed_vector_fails_by_name_and_field(two, tmp_path, capsys):
    two[1]["decoded"]["x"] = "y"
    write(tmp_path, "properties.jsonl", *two)
    report = tmp_path / "report.json"
    assert main(["conform", str(tmp_path), "--json", str(report)]) == 1
    out = capsys.readouterr().out
    assert "properties" in out
    assert "1/2" in out
    assert f'{two[1]["case"]} decoded.x: expected "y", got' in out
    [(family, result)] = json.loads(report.read_text()).items()
    assert family == "properties"
    assert (result["passed"], result["total"], result["failures"]) == (1, 2, [two[1]["case"]])
    assert result["differences"][0]["field"] == "decoded.x"


def test_passing_vectors_exit_with_0_and_json_goes_to_standard_output(two, tmp_path, capsys):
    write(tmp_path, "properties.jsonl", *two)
    assert main(["conform", str(tmp_path), "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["properties"]["passed"] == 2
    assert "2/2" in err


def test_only_the_first_differences_are_printed(two, tmp_path, capsys):
    two[0].update(string="x", decoded={"a": "b"}, utf8_hex="00")
    write(tmp_path, "properties.jsonl", *two)
    assert main(["conform", str(tmp_path), "--show", "1"]) == 1
    out = capsys.readouterr().out
    assert out.count("expected") == 1
    assert "2 more differences in 1 cases" in out


def test_files_are_found_by_name_or_by_their_cases(golden, two, tmp_path):
    write(tmp_path, "properties-more.jsonl", two[0])
    write(tmp_path, "other.jsonl", two[1])
    [result] = conform(tmp_path).values()
    assert (result.family, result.total, result.passed) == ("properties", 2, 2)
    packed = tmp_path / "packed" / "messageid.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress((golden / "vectors" / "messageid.jsonl").read_bytes()))
    assert conform(packed.parent)["messageid"].passed == 311


def test_the_longest_family_name_wins(golden, tmp_path):
    vector = {"case": "sql92_eval-1"}
    write(tmp_path, "sql92_eval.jsonl", vector)
    if find_spec(FAMILIES["sql92_eval"]) is None:
        assert list(conform(tmp_path)) == ["sql92_eval"]
    else:
        with pytest.raises(BadVectors, match="sql92_eval"):
            conform(tmp_path)


def test_a_family_without_a_runner_fails_by_name(two, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(conform_module.FAMILIES, "properties", "rmqlab.lab.no_such_runner")
    write(tmp_path, "properties.jsonl", *two)
    assert main(["conform", str(tmp_path)]) == 1
    assert "properties       0/2  not implemented" in capsys.readouterr().out


def test_a_file_of_no_family_fails_by_name(two, tmp_path, capsys):
    two[0]["case"] = "unheard-of-1"
    write(tmp_path, "unheard-of.jsonl", two[0])
    assert main(["conform", str(tmp_path)]) == 1
    assert "unheard-of.jsonl is of no known family" in capsys.readouterr().out


def test_a_runner_that_breaks_fails_its_case_only(two):
    def broken(vector):
        raise ZeroDivisionError("boom")

    kind = Kind(given={}, expected=("decoded",), run=broken)
    vector = {"case": "c", "decoded": {}}
    assert kind.differences(vector) == [Difference("c", "(run)", "an answer", "ZeroDivisionError: boom")]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda v: v.pop("string"), "properties.jsonl:2: field 'string': is missing"),
        (lambda v: v.pop("decoded"), "properties.jsonl:2: field 'decoded': is missing"),
        (lambda v: v.pop("case"), "properties.jsonl:2: field 'case': must be the name"),
        (
            lambda v: v.update(case="properties-0001"),
            ":2: field 'case': 'properties-0001' is on line 1",
        ),
        (lambda v: v.update(kind="other"), "properties.jsonl:2: field 'kind': must be one of to_string, from_string"),
        (lambda v: v.pop("kind"), "properties.jsonl:2: field 'kind': must be one of"),
        (lambda v: v.update(string=5), "properties.jsonl:2: field 'string': must be str | None, not 5"),
        (lambda v: v.update(strnig=5), "properties.jsonl:2: field 'strnig': is not known here"),
    ],
)
def test_a_wrong_vector_is_named_by_file_line_and_field(two, tmp_path, capsys, change, told):
    change(two[1])
    write(tmp_path, "properties.jsonl", *two)
    assert main(["conform", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert told in err
    assert not out


@pytest.mark.parametrize("line", [b"{", b"[1]", b"\xff", b"7", b"[" * 100_000])
def test_what_is_no_json_object_is_named_by_line(two, tmp_path, capsys, line):
    path = write(tmp_path, "properties.jsonl", two[0])
    path.write_bytes(path.read_bytes() + b"\n" + line)
    assert main(["conform", str(tmp_path)]) == 2
    assert f"{path}:3: " in capsys.readouterr().err


def test_nothing_to_run(tmp_path, capsys):
    assert main(["conform", str(tmp_path)]) == 2
    assert "nothing to run" in capsys.readouterr().err
    assert main(["conform", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err
    (tmp_path / "tags.jsonl").touch()
    assert main(["conform", str(tmp_path)]) == 2
    assert "is empty" in capsys.readouterr().err


def test_broken_gzip(tmp_path):
    (tmp_path / "tags.jsonl.gz").write_bytes(gzip.compress(b"{}")[:-5])
    with pytest.raises(BadVectors, match="cannot be read"):
        conform(tmp_path)


def test_values_are_compared_by_type_and_place():
    assert list(compare(1, 1, "f")) == []
    for left, right in ((1, True), (1, 1.0), (0, False), ("1", 1), (None, {}), ([], {})):
        assert len(list(compare(left, right, "f"))) == 1
    differences = list(compare({"a": [1, 2], "b": 3}, {"a": [1], "c": 3}, "f"))
    assert [path for path, _, _ in differences] == ["f.a[1]", "f.b", "f.c"]
    assert list(compare({"a": "(missing)"}, {}, "f"))


def test_taking_a_field():
    owner = {"n": 1, "b": True, "t": "x"}
    assert take(owner, "n", int | None) == 1
    assert take(owner, "b", bool) is True
    assert take(owner, "t", object) == "x"
    for name, shape in (("b", int), ("b", int | None), ("n", bool), ("t", int), ("z", int)):
        with pytest.raises(BadVector, match=f"'where.{name}'"):
            take(owner, name, shape, "where")
    assert from_hex("00ff", "h") == b"\x00\xff"
    for text in ("0", "0G", "00 ", "FF"):
        with pytest.raises(BadVector, match="lower-case hex"):
            from_hex(text, "h")
