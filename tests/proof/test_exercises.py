"""Exercises made from solutions."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from rmqlab.errors import BadInput
from tests.proof import exercises, notebook_files
from tests.proof.notebook_files import write

SOLVED = """\
before = 1
# begin solution
answer = {
    "A": 2,
}
# otherwise
# answer = {
#     "A": 0,
# }
# end solution
check(answer)"""
STUB = """\
before = 1
# Your turn.
answer = {
    "A": 0,
}
check(answer)"""


def test_stub_takes_the_place_of_the_solution():
    assert exercises.stub(SOLVED) == STUB


def test_stub_keeps_its_indentation():
    source = "def f():\n    # begin solution\n    return 1\n    # otherwise\n    # return 0\n    # end solution"
    assert exercises.stub(source) == "def f():\n    # Your turn.\n    return 0"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("# begin solution\nx\n# end solution", 'line 3: "# end solution" where "# otherwise" should come next'),
        ("x\n# otherwise", 'line 2: "# otherwise" where "# begin solution" should come next'),
        ("# begin solution\nx\n# otherwise\n# y", 'no "# end solution" after "# otherwise"'),
        (
            "# begin solution\nx\n# otherwise\ny\n# end solution",
            "line 4: what stands for the solution must be comments",
        ),
    ],
)
def test_markers_that_do_not_match(source, text):
    with pytest.raises(BadInput) as caught:
        exercises.stub(source, "cell 3")
    assert str(caught.value).startswith("cell 3")
    assert text in str(caught.value)


def solved_notebook():
    cells = [
        new_markdown_cell("read", id="read"),
        new_code_cell(SOLVED, id="task", outputs=[new_output("stream", text="right")], execution_count=1),
        new_markdown_cell("because", id="why", metadata={"tags": ["solution"]}),
        new_code_cell("look()", id="look", metadata={"tags": ["row:S-84"]}, execution_count=2),
    ]
    return new_notebook(cells=cells, metadata={"widgets": {"state": {}}})


def test_exercise_has_stubs_no_solutions_and_no_outputs():
    exercise = exercises.exercise_of(solved_notebook())
    assert [(cell["id"], cell["source"]) for cell in exercise["cells"]] == [
        ("read", "read"),
        ("task", STUB),
        ("look", "look()"),
    ]
    assert [cell["outputs"] for cell in exercise["cells"] if cell["cell_type"] == "code"] == [[], []]
    assert {cell["execution_count"] for cell in exercise["cells"] if cell["cell_type"] == "code"} == {None}
    assert exercise["cells"][2]["metadata"] == {"tags": ["row:S-84"]}
    assert set(exercise["metadata"]) == {"kernelspec", "language_info"}


def test_notebook_without_a_solution_is_refused():
    with pytest.raises(BadInput, match=r"x\.ipynb: nothing in it is a solution"):
        exercises.exercise_of(new_notebook(cells=[new_code_cell("1")]), "x.ipynb")


def test_generate_writes_beside_the_solutions(tmp_path):
    path = tmp_path / "solutions" / "07_tasks.ipynb"
    write(path, solved_notebook())
    (written,) = exercises.generate(tmp_path)
    assert written == tmp_path / "exercises" / "07_tasks.ipynb"
    exercise = notebook_files.read(written)
    assert exercise == exercises.exercise_of(notebook_files.read(path))
    nbformat.validate(exercise)
