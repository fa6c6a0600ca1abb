"""A file of `config/` at a broker's start: good, missing, empty or damaged, with a `.bak` or without."""

from __future__ import annotations

import json

import pytest

from rmqlab.protocol.bodies import ConsumerOffsetSerializeWrapper
from rmqlab_tools.live.config_load import FileState, load_config
from rmqlab_tools.live.wire import lenient_json

WHOLE = b'{\n\t"offsetTable":{\n\t\t"T@G":{0:5,1:7\n\t\t},\n\t\t"%RETRY%G@G":{0:0\n\t\t}\n\t}\n}'


def offsets(text):
    return ConsumerOffsetSerializeWrapper.decode(text.encode()).offset_table


@pytest.fixture
def load(tmp_path):
    def loaded(file, backup=None):
        for name, data in (("consumerOffset.json", file), ("consumerOffset.json.bak", backup)):
            path = tmp_path / name
            path.unlink(missing_ok=True)
            if data is not None:
                path.write_bytes(data)
        return load_config(tmp_path / "consumerOffset.json", offsets)

    return loaded


def test_every_kind_of_damage_is_what_the_jar_of_4_8_0_makes_of_it(golden, load):
    cases = [json.loads(line) for line in (golden / "config-load" / "cases.jsonl").read_text().splitlines()]
    assert len(cases) > 150
    for case in cases:
        file, backup = (None if case[name] is None else bytes.fromhex(case[name]) for name in ("file", "backup"))
        found = load(file, backup)
        assert found.starts == case["starts"], case
        if found.starts:
            table = {
                key: {str(number): value for number, value in one.items()} for key, one in (found.value or {}).items()
            }
            assert table == case["table"], case


@pytest.mark.parametrize(
    ("data", "place", "reason"),
    [
        (WHOLE + b'\t"X@G":{0:1\n\t\t}\n}', (8, 3), "more text stands behind its end"),
        (WHOLE + b"}", (8, 2), "more text stands behind its end"),
        (WHOLE[:34], (3, 16), "it ends in the middle"),
        (WHOLE[:47], (5, 7), "it ends in the middle"),
        (b"\0" * 50, (1, 1), "nothing but zero bytes"),
        (WHOLE.replace(b"0:5,", b"0:=,"), (3, 12), "no JSON"),
    ],
)
def test_a_damaged_file_is_named_with_its_place(load, data, place, reason):
    found = load(data)
    assert (found.file.line, found.file.column) == place
    assert found.file.reason == reason
    assert found.value is None
    assert found.is_lost
    where = f"line {place[0]}, column {place[1]}"
    missing = "consumerOffset.json.bak is missing: 4.8.0 starts with an empty table"
    assert found.says() == f"consumerOffset.json is damaged at {where}: {reason}, and {missing}"
    assert data[: found.file.offset].decode() == data.decode()[: found.file.offset]


def test_what_is_said_of_the_copy(load):
    assert load(WHOLE).says() == load(None).says() == ""
    assert not load(None).is_lost
    assert load(b"").says().endswith("consumerOffset.json.bak is missing: 4.8.0 starts with an empty table")
    copied = load(b"{", WHOLE)
    assert copied.from_backup
    assert copied.value == {"T@G": {0: 5, 1: 7}, "%RETRY%G@G": {0: 0}}
    assert copied.says().endswith("4.8.0 takes consumerOffset.json.bak instead, which is older")
    neither = load(b"{", b"")
    assert neither.backup.state is FileState.EMPTY
    assert neither.is_lost
    assert load(b"{", b"{").says().endswith("4.8.0 does not start")


def test_the_place_is_that_in_the_text_that_was_given():
    """Numbers and objects as keys are marked while it is read, which moves what follows."""
    for text in ('{"a":{0:1,1:2,"b":?}}', '{"a":{{"x":1}:2,3:4},"b":?}', "{0:{1:{2:?}}}", "\ufeff{7:?}"):
        with pytest.raises(lenient_json.TextDamage) as raised:
            lenient_json.read_file_text(text)
        assert raised.value.position == text.index("?"), text
