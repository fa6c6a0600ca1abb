"""Notebooks as files: parameters, running, cleaning."""

from __future__ import annotations

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook, new_output

from rmqlab.errors import BadInput
from rmqlab.lessons import notebooks

pytestmark = pytest.mark.slow


def simple(*sources):
    return new_notebook(cells=[new_code_cell(source, id=f"c{number}") for number, source in enumerate(sources)])


def test_parameters_follow_their_cell():
    notebook = simple("a = 1", "print(a)")
    notebook["cells"][0]["metadata"]["tags"] = ["parameters"]
    other = notebooks.with_parameters(notebook, {"a": 2, "text": "x"})
    assert [cell["source"] for cell in other["cells"]] == ["a = 1", "a = 2\ntext = 'x'", "print(a)"]
    assert len(notebook["cells"]) == 2


def test_parameters_without_a_cell_for_them():
    with pytest.raises(BadInput, match="takes no parameters"):
        notebooks.with_parameters(simple("a = 1"), {"a": 2})


def test_clean_leaves_nothing_of_one_run():
    notebook = simple("x")
    cell = notebook["cells"][0]
    cell["metadata"] = {"tags": ["row:S-84"], "execution": {"iopub.execute_input": "2021-09-05"}, "trusted": True}
    data = {notebooks.WIDGET: {"model_id": "f00"}, "text/plain": "Controls"}
    cell["outputs"] = [new_output("display_data", data=data, metadata={"isolated": True})]
    notebook["metadata"] = {"widgets": {}, "language_info": {"name": "python", "version": "3.11.7"}}
    done = notebooks.clean(notebook)
    assert done["metadata"] == {"kernelspec": notebooks.KERNEL, "language_info": {"name": "python"}}
    assert done["cells"][0]["metadata"] == {"tags": ["row:S-84"]}
    assert done["cells"][0]["outputs"][0]["data"] == {"text/plain": "Controls"}
    assert done["cells"][0]["outputs"][0]["metadata"] == {}
    assert notebook["metadata"]["widgets"] == {}


def test_renew_runs_and_cleans(tmp_path):
    path = tmp_path / "n.ipynb"
    notebooks.write(path, simple("import os; os.path.basename(os.getcwd())"))
    notebooks.renew(path)
    first = path.read_bytes()
    (output,) = notebooks.read(path)["cells"][0]["outputs"]
    assert output["data"]["text/plain"] == repr(tmp_path.name)
    notebooks.renew(path)
    assert path.read_bytes() == first


def test_a_cell_that_fails(tmp_path):
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        notebooks.execute(simple("1 / 0"), tmp_path)


def test_what_is_no_notebook(tmp_path):
    path = tmp_path / "n.ipynb"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(BadInput, match=r"n\.ipynb: not a notebook"):
        notebooks.read(path)
