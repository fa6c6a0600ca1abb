"""Code cells in another language: texts with their values, names wherever they stand, and nothing else."""

from __future__ import annotations

import pytest

from rmqlab_tools.course.code_in_language import asked_in, code_in, names_in

TOLD = {
    "{n} of {rows} lost": "{rows} 条中丢失 {n} 条",
    "{n} queue": "{n} 个队列",
    "{n} queues": "{n} 个队列",
    "{who} goes": "{who} 走了",
    "{who} stays": "{who} 留下",
    "messages went to": "消息去了",
    "all of them": "全部",
    ", ": "、",
    "TAGS = 'a'": "不是文字",
}


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ('print(f"{n} of {len(rows)} lost")', 'print(f"{len(rows)} 条中丢失 {n} 条")'),
        ("""f"{n} queue{'s' if n > 1 else ''}\"""", 'f"{n} 个队列"'),
        ("""f"{who} {'goes' if gone else 'stays'}\"""", '(f"{who} 走了" if gone else f"{who} 留下")'),
        ('print("all of them")', 'print("全部")'),
        ('f("all of them")', 'f("all of them")'),
        ("f\"TAGS in ({', '.join(tags)})\"", "f\"TAGS in ({', '.join(tags)})\""),
        ('f"{n:.2f} of {len(rows):,} lost"', 'f"{len(rows):,} 条中丢失 {n:.2f} 条"'),
    ],
)
def test_texts_are_told_and_code_stays(source, told):
    assert code_in(source, TOLD) == told


def test_a_name_of_several_words_is_the_same_wherever_it_stands():
    cells = [
        'frame = DataFrame([{"messages went to": 1}])',
        'frame["messages went to"], f"{frame[\'messages went to\']}"',
    ]
    names = names_in(cells, TOLD)
    assert names == {"messages went to"}
    assert [code_in(cell, TOLD, names) for cell in cells] == [
        'frame = DataFrame([{"消息去了": 1}])', 'frame["消息去了"], f"{frame[\'消息去了\']}"',
    ]  # fmt: skip


def test_what_a_check_or_a_guess_compares_stays():
    assert names_in(['x["messages went to"]', 'rmqlab.check("01-a", {"messages went to": 1})'], TOLD) == set()


def test_what_is_asked_for_by_a_made_name_stays():
    cells = ['told = {f"{who} goes": 1 for who in names}', 'told["A goes"], told["all of them"]']
    words = TOLD | {"A goes": "A 走了"}
    names, asked = names_in(cells, words), asked_in(cells)
    assert (names, asked) == ({"all of them"}, {"A goes", "all of them"})
    assert [code_in(cell, words, names, asked) for cell in cells] == [cells[0], 'told["A goes"], told["全部"]']
