from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError
from rmqlab_tools.live.wire import json_header
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame


def decode(text: str) -> RemotingCommand:
    data = text.encode("utf-8", "surrogatepass")
    return decode_frame(struct.pack(">I", len(data)) + data, lambda: -1)


# What fastjson 1.2.69 answered when 4.8.0 `RemotingCommand.decode` read these texts.
@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ('{"code":11,"code":12}', "code", 12),
        ('{"code":11,"Code":12}', "code", 11),
        ('{"Code":11,"code":12}', "code", 11),
        ('{"opaque":5,"code":11,"code":12}', "code", 11),
        ('{"c-o_d-e":11}', "code", 11),
        ('{"co de":11}', "code", 0),
        ('{"iscode":11}', "code", 0),
        ("{'code':11}", "code", 11),
        ("{code:11,}", "code", 11),
        ('{,"code":11,,}', "code", 11),
        ('/*x*/{"code":00011}//y', "code", 11),
        ('{"code":11;"opaque":5]}', "opaque", 5),
        ('{"code":+11}', "code", 11),
        ('{"code":"5.0"}', "code", 5),
        ('{"code":"1,000"}', "code", 1000),
        ('{"code":"+1"}', "code", 1),
        ('{"code":""}', "code", 0),
        ('{"code":1.9}', "code", 1),
        ('{"code":-1.9}', "code", -1),
        ('{"code":false}', "code", 0),
        ('{"code":-2147483648}', "code", -2147483648),
        ('{"opaque":null}', "opaque", -1),
        ('{"opaque":"null"}', "opaque", -1),
        ('{"language":"go"}', "language", "GO"),
        ('{"language":11}', "language", "OMS"),
        ('{"language":""}', "language", None),
        ('{"language":"9"}', "language", None),
        ('{"remark":5.0}', "remark", "5.0"),
        ('{"remark":1e5}', "remark", "1E+5"),
        ('{"remark":-0}', "remark", "-0"),
        ('{"remark":true}', "remark", "true"),
        ('{"remark":[1,"x",{"z":1,"y":null}]}', "remark", '[1,"x",{"z":1}]'),
        ("{\"remark\":'it'}", "remark", "it"),
        ('{"remark":"a\tb"}', "remark", "a\tb"),
        ('{"remark":"\\x41\\v\\\'\\/"}', "remark", "A\v'/"),
        ('{"remark":"\\ud83d\\ude00"}', "remark", "😀"),
        ('{"extFields":{"a":1.50,"b":1e3,"c":-0,"d":"","e":false}}', "ext_fields",
         {"a": "1.50", "b": "1E+3", "c": "-0", "d": "", "e": "false"}),
        ('{"extFields":{"a":{"zz":1,"b":2,"topic":3}}}', "ext_fields", {"a": '{"zz":1,"b":2,"topic":3}'}),
        ('{"extFields":{"a":{"z":1,"y":2}}}', "ext_fields", {"a": '{"y":2,"z":1}'}),
        ('{"extFields":{a:null,\'b\':[1 2]}}', "ext_fields", {"a": None, "b": "[1,2]"}),
        ('{"extFields":{"a":1},"extFields":{"b":2}}', "ext_fields", {"b": "2"}),
        ('{"x":{"y":[{}]},"serializeTypeCurrentRPC":"XML","body":"YWJj"}', "body", None),
        ('\ufeff{"code":1}', "code", 1),
        ('\ufeff\n{"code":1}\n', "code", 1),
        ('\ufeff/**/{"code":1}', "code", 1),
        ('\x00\x0b\x7f{"code":1}\x7f\x00', "code", 1),
        ('{"code":\x1a1}', "code", 1),
        ('{"code":1}/* no end', "code", 1),
        ('{"code":1}//', "code", 1),
        ('{//c\n"code"\b\f:1}', "code", 1),
        ('{"extFields":{"a"/**/:"b"}}', "ext_fields", {"a": "b"}),
        ('{"code":1"a",\'remark\':"r"}', "remark", "r"),
        ('{"code":1{,"flag":2}', "flag", 2),
        ('{"remark":"r"1.5,"flag":2}', "flag", 2),
        ('{"version":317L}', "version", 317),
        ('{"remark":1.0F}', "remark", "1.0"),
        ('{"language":NULL}', "language", None),
        ('{c\u4e2d:1,"flag":2}', "flag", 2),
    ],
)  # fmt: skip
def test_lenient_texts(text, field, value):
    assert getattr(decode(text), field) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"code":4294967296}', '{"code":"x"}', '{"code":"1.5"}', '{"code":" 1"}', '{"code":[]}', '{"code":{}}',
        '{"code":}', '{"code":tru}', '{"code"}', "{", '{"code":11', '{"code":11}}', '{"code":11}{}', '{"code":11},',
        '{"code":11 "opaque":5}', '{"x":abc}', '{"x":"a', '{"x":[1,2}', '{"x":{"y":}}', '{"x":{"y" 1}}',
        '{"language":12}', '{"language":-1}', '{"language":true}', '{"language":1.0}', '{"language":{}}',
        '{"extFields":[]}', '{"extFields":""}', '{"extFields":5}', '{"extFields":{3:4}}',
        '{"serializeTypeCurrentRPC":2}', '{"body":5}', '{"body":{}}', '{"@type":"x"}', '{"remark":"\\q"}',
        '{"remark":"\\u12"}', '{"remark":"\\u1_23"}', "{c-ode:11}",
        '{"x":{"y":1;}}', '{"code":11x}', '[{"code":11}]', "[1]", "true", "1", '"{}"', "x", "[" * 100_000,
        '\ufeff\ufeff{"code":1}', ' \ufeff{"code":1}', '{"code":1}\ufeff', '{\ufeff"code":1}', '\xa0{"code":1}',
        '{"code":1}/', '{"code":1Set}',
        '{"code":1NaN}', '{"code":1.0X}', "{\xe9:1}",
    ],
)  # fmt: skip
def test_texts_that_fastjson_refuses(text):
    with pytest.raises(FrameError) as caught:
        decode(text)
    assert caught.value.java_error in {"JSONException", "StackOverflowError"}


@pytest.mark.parametrize(
    ("number", "code"),
    [("1.9", 1), ("1e2", 100), ("4294967297.5", 1)],
)
def test_numbers_with_a_fraction_or_an_exponent(number, code):
    command = RemotingCommand()
    assert json_header.read(command, f'{{"code":{number},"opaque":1}}'.encode())
    assert command.code == code


@pytest.mark.parametrize(
    "number",
    ["1e1073676643", "-1e999999999", "1e-101", "5e101", "2147483648" + "0" * 101 + "e-101", "9" * 60_000 + ".5"],
)
def test_numbers_that_would_take_forever_are_refused_at_once(number):
    """Written out, the first would fill the memory of this machine."""
    with pytest.raises(FrameError, match="wanted exactly"):
        json_header.read(RemotingCommand(), f'{{"code":{number}}}'.encode())


@pytest.mark.parametrize("text", ["", " \n", "null", "[]", '""'])
def test_no_object_is_a_null_pointer(text):
    with pytest.raises(FrameError) as caught:
        decode(text)
    assert caught.value.java_error == "NullPointerException"


def test_nulls_are_left_out_and_odd_characters_escaped():
    command = RemotingCommand(1, language=None, version=2, ext_fields={"a": None, "b": '"\\/\b\x01\x1f\x7f\u2028é'})
    assert encode_frame(command)[8:].decode() == (
        '{"code":1,"extFields":{"b":"\\"\\\\/\\b\\u0001\\u001F\\u007F\\u2028é"},"flag":0,"opaque":0,'
        '"serializeTypeCurrentRPC":"JSON","version":2}'
    )


PLAIN = (
    b'{"code":310,"extFields":{"a":"P","b":"T","i":"TAGS\\u0001\\u0002x","m":"false"},"flag":0,"language":"JAVA",'
    b'"opaque":7,"remark":"r\\"e","serializeTypeCurrentRPC":"JSON","version":373}'
)
PIECES = [
    b'"', b"'", b",", b"{", b"}", b":", b"null", b'"code":1,', b'"code":"1",', b'"extFields":{},', b'"opaque":-1', b" ",
    b"1.0", b"-0", b"1e2", b"99999999999", b"\\", b"\\u0022", b"\\ud800", b"\xff", b"\xc3\xa9", b"\x01", b'"a":"Q",',
    b'"remark":null,', b'"body":"",', b'"java"', b'"XYZ"', b"[]", b"true", b"\xef\xbb\xbf", b"\n",
]  # fmt: skip


def read_by(read, header):
    command = RemotingCommand(version=0)
    try:
        return read(command, header), command
    except FrameError as error:
        return type(error), str(error)


@settings(max_examples=1500)
@given(st.lists(st.tuples(st.integers(0, len(PLAIN)), st.integers(0, 12), st.sampled_from([b"", *PIECES])), max_size=4))
def test_plain_headers_are_read_quickly_and_others_not_otherwise(edits):
    """The quick way takes a header only when the careful one reads the same from it."""
    header = bytearray(PLAIN.replace(b'\\"', b""))
    for at, length, piece in edits:
        header[at : at + length] = piece
    quick = RemotingCommand(version=0)
    if json_header._read_plain(quick, bytes(header)):
        assert (True, quick) == read_by(json_header._read_with_care, bytes(header))
    if not edits:
        assert quick.ext_fields["i"] == "TAGS\x01\x02x"
    assert json_header._read_plain(RemotingCommand(), PLAIN) is False  # a quote in a text


TEXTS = st.one_of(st.text(max_size=6), st.sampled_from(["", "true", 'a"b', "a\\b", "\x7f", ":null", "é", "\ud83d"]))


@given(
    st.none() | st.dictionaries(TEXTS, st.none() | TEXTS, max_size=8),
    st.none() | TEXTS, st.none() | st.sampled_from(["JAVA", "GO"]), st.integers(-(2**31), 2**31 - 1),
)  # fmt: skip
def test_plain_headers_are_written_quickly_and_others_not_otherwise(fields, remark, language, number):
    """The quick way writes a header only when the careful one writes the same."""
    command = RemotingCommand(number, language, 373, number, 1, remark, fields)
    quick = json_header._write_plain(command, fields)
    assert quick in (None, json_header._write_with_care(command, fields))
    if json_header._write_with_care(command, fields).isascii() and not fields and remark is None:
        assert quick is not None
