"""What is committed: executed, clean, readable without a kernel, honest about its numbers. Holds for every notebook."""

from __future__ import annotations

import html
import json
import re
import sys

import pytest
from papermill import inspect_notebook

from rmqlab.checkout import ROOT

NOTEBOOKS = ROOT / "notebooks"


def found(*parts):
    """Committed notebooks below notebooks/, by path relative to it."""
    paths = NOTEBOOKS.joinpath(*parts).glob("*.ipynb")
    return sorted(path.relative_to(NOTEBOOKS).as_posix() for path in paths)


LESSONS, SOLUTIONS, EXERCISES = found(), found("solutions"), found("exercises")


def load(name):
    """The notebook as JSON, sources joined."""
    notebook = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(notebook):
    """Every output with the id of its cell."""
    return [(cell["id"], output) for cell in code_cells(notebook) for output in cell["outputs"]]


GUESS = "guess"
SVG = "image/svg+xml"
EXECUTED = [*LESSONS, *SOLUTIONS]
EVERY = [*EXECUTED, *EXERCISES]
HEADER = ("Article section", "You will be able to", "Prerequisites", "Minutes")
SMALL_KB = 800
GLOSSARY = dict(
    re.findall(
        r'^\| <a id="([^"]+)"></a>[^|]+\| ([^|]+) \|', (NOTEBOOKS / "glossary.md").read_text("utf-8"), re.MULTILINE
    )
)
TERM = re.compile(r"\]\((?:\.\./)?glossary\.md#([^)]+)\)(.{0,12})", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# Numbers in prose: not those in code, links, versions, names (MsgStr4, tagA, layer 1) or headings of the header cell.
NAMED = re.compile(r"`[^`]*`|\([^)]*\)|\[[^\]]*\](?=\()|\b4\.[\dx](\.\w)?|5\.x|[Ll]ayer [12]\b|[Nn]otebook \d\d")
NUMBER = re.compile(r"(?<![\w.@/-])\d[\d,]*(?:\.\d+)?(?![\w@])")


def test_there_are_notebooks():
    assert "01_eight_messages.ipynb" in LESSONS
    assert SOLUTIONS
    assert [name.partition("/")[2] for name in SOLUTIONS] == [name.partition("/")[2] for name in EXERCISES]


@pytest.mark.parametrize("name", EVERY)
def test_header_cell(name):
    first = load(name)["cells"][0]
    assert first["cell_type"] == "markdown"
    number = name.rpartition("/")[2].partition("_")[0]
    title, _, rest = first["source"].partition("\n")
    assert title.startswith(f"# {number} ")
    assert "**Question:**" in rest
    rows = dict(re.findall(r"^\| ([^|]+?) \| (.+) \|$", rest, re.MULTILINE))
    assert tuple(key for key in HEADER if rows.get(key)) == HEADER
    assert re.match(r"\d+ ", rows["Minutes"])


@pytest.mark.parametrize("name", EVERY)
def test_nothing_of_one_run_is_stored(name):
    notebook = load(name)
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook["cells"]:
        assert set(cell["metadata"]) <= {"tags"}, cell["id"]
    for cell, output in outputs(notebook):
        assert output["output_type"] != "error", cell
        assert output.get("name") != "stderr", cell
        assert output.get("metadata", {}) == {}, cell
        assert not [kind for kind in output.get("data", {}) if "widget" in kind], cell
    text = (NOTEBOOKS / name).read_text(encoding="utf-8")
    assert len(text) < SMALL_KB * 1_000
    assert not re.search(r" at 0x[0-9a-f]{6,}", text)


@pytest.mark.parametrize("name", EXECUTED)
def test_every_cell_was_run_in_order(name):
    counts = [cell["execution_count"] for cell in code_cells(load(name))]
    assert counts == list(range(1, len(counts) + 1))


@pytest.mark.parametrize("name", EXECUTED)
def test_every_picture_has_words_and_a_table(name):
    notebook = load(name)
    found = outputs(notebook)
    pictures = [number for number, (_, output) in enumerate(found) if SVG in output.get("data", {})]
    assert pictures or name in SOLUTIONS
    for number in pictures:
        cell, picture = found[number]
        svg = "".join(picture["data"][SVG])
        alt = html.unescape(re.search(r"<desc[^>]*>(.*?)</desc>", svg, re.DOTALL)[1])
        assert 'role="img"' in svg, cell
        assert len(alt.split()) > 8, cell
        assert alt in "".join(picture["data"]["text/plain"]), cell
        twin_cell, twin = found[number + 1]
        words = "".join(twin["data"]["text/html"])
        assert twin_cell == cell
        assert html.escape(alt) in words, cell
        assert "<table>" in words, cell


@pytest.mark.parametrize("name", EVERY)
def test_ids_are_words_and_differ(name):
    ids = [cell["id"] for cell in load(name)["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one) for one in ids)


@pytest.mark.parametrize("name", EVERY)
def test_links_lead_somewhere(name):
    base = (NOTEBOOKS / name).parent
    for cell in load(name)["cells"]:
        for target in LINK.findall(cell["source"]) if cell["cell_type"] == "markdown" else ():
            path, _, anchor = target.partition("#")
            if path.startswith("http"):
                continue
            file = base / path
            assert file.is_file(), f"{cell['id']}: {target}"
            assert not anchor or f'<a id="{anchor}"></a>' in file.read_text(encoding="utf-8"), f"{cell['id']}: {target}"


@pytest.mark.parametrize("name", LESSONS)
def test_terms_have_their_chinese_beside_them(name):
    """The first link to a term is followed by Chinese that the glossary has for it."""
    seen = set()
    text = "\n".join(cell["source"] for cell in load(name)["cells"] if cell["cell_type"] == "markdown")
    for match in TERM.finditer(text):
        term, beside = match.groups()
        if term not in seen:
            chinese = re.search(r"\(((?:POP )?[\u4e00-\u9fff]+)\)", beside)
            assert chinese, f"{match[0]!r}: no Chinese beside it"
            assert chinese[1] in GLOSSARY[term], f"{chinese[1]} is not {GLOSSARY[term]}"
        seen.add(term)
    assert seen


@pytest.mark.parametrize("name", LESSONS)
def test_numbers_in_the_text_are_computed_above(name):
    cells, computed = load(name)["cells"][1:], ""
    # what the guess is about is given in its text, and counted below it
    given = next((n for n, cell in enumerate(cells) if GUESS in cell["metadata"].get("tags", ())), 0)
    after = json.dumps([cell for cell in cells[given:] if cell["cell_type"] == "code"], ensure_ascii=False)
    for place, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            computed += cell["source"]
            for output in cell["outputs"]:
                computed += "".join(map("".join, [output.get("text", ""), *output.get("data", {}).values()]))
            continue
        prose = NAMED.sub("", cell["source"])
        for number in NUMBER.findall(re.sub(r"^#.*$", "", prose, flags=re.MULTILINE)):
            shown = computed + after if place < given else computed
            assert re.search(rf"(?<!\d){re.escape(number)}(?!\d)", shown), f"{cell['id']}: {number} comes from nowhere"


@pytest.mark.parametrize("name", LESSONS)
def test_lesson_takes_parameters(name):
    tagged = [cell for cell in code_cells(load(name)) if "parameters" in cell["metadata"].get("tags", ())]
    assert len(tagged) == 1
    assert re.search(r'^mode = "live"', tagged[0]["source"], re.MULTILINE)


@pytest.mark.parametrize("name", LESSONS)
def test_papermill_knows_every_parameter(name):
    """Else it calls one that is given unknown, though the lesson takes it."""
    (cell,) = [cell for cell in code_cells(load(name)) if "parameters" in cell["metadata"].get("tags", ())]
    assert list(inspect_notebook(str(NOTEBOOKS / name))) == re.findall(r"^(\w+) = ", cell["source"], re.MULTILINE)


@pytest.mark.parametrize("name", EVERY)
def test_data_is_found_from_any_folder(name):
    """A path that begins at the working folder leads nowhere elsewhere: `rmqlab.data` finds the file."""
    assert not [cell["id"] for cell in code_cells(load(name)) if re.search(r"""["']\.{1,2}/""", cell["source"])]


@pytest.mark.parametrize("name", EVERY)
def test_a_notebook_that_needs_spark_says_so_first(name):
    """The first code cell of those that open a session, or read Parquet, and of no others."""
    cells = [cell["source"] for cell in code_cells(load(name))]
    needs = any("rmqlab.spark(" in source or "read_parquet(" in source for source in cells)
    assert ('rmqlab.need("spark")' in cells[0]) == needs
    assert not needs or name in EXERCISES or "Spark" in load(name)["cells"][0]["source"] or "tasks" in name


def test_glossary_has_both_languages():
    assert len(GLOSSARY) > 70
    assert not [term for term, chinese in GLOSSARY.items() if not re.search(r"[\u4e00-\u9fff]", chinese)]


VERB = re.compile(
    r"\b(is|are|was|has|have|says?|sends?|reads?|keeps?|names?|computes?|watch(es)?|gets?|divides?|knows?|appends?|fetch(es)?|"
    r"looks?|leaves|share|take|run|ran|returns|makes|stands?|counts|splits|calls|measured|waits|shows|choose|report|ask|"
    r"decides|pulls|tells|comes|sets|subscribe|removes|checks|cut|registers|fit|copy|holds?|hangs?|needs?|serves?|removed|does|tells?|goes|takes?|rebalance)\b"
)


def test_the_glossary_speaks_in_sentences():
    text = (NOTEBOOKS / "glossary.md").read_text("utf-8")
    meanings = dict(re.findall(r'^\| <a id="([^"]+)"></a>[^|]+\|[^|]+\| (.+) \|$', text, re.MULTILINE))
    assert meanings.keys() == GLOSSARY.keys()
    for term, meaning in meanings.items():
        assert meaning[0].isupper(), term
        assert meaning.endswith("."), term
        assert all(VERB.search(sentence) for sentence in re.split(r"(?<=[.:]) (?=[A-Z])", meaning)), (
            f"{term}: {meaning}"
        )


# The open lab: an experiment's code stands in the cells. These bounds only go down.
CLOSED, DEEP_IMPORTS, ONE_LINE_SHARE = 0, 0, 0.2
IMPORTS = re.compile(r"^[ \t]*(?:from|import)[ \t]+([\w.]+)(?:[ \t]+import[ \t]+(\w+))?", re.MULTILINE)
MAY_IMPORT = {"rmqlab", "pandas", "pyspark", *sys.stdlib_module_names}
WITH_A_RULE = [name for name in LESSONS if name[:2] <= "10"]


def imported(name):
    """What a notebook imports: dotted names, `from rmqlab import x` as rmqlab.x."""
    for cell in code_cells(load(name)):
        for module, one in IMPORTS.findall(cell["source"]):
            yield f"{module}.{one}" if module == "rmqlab" and one else module


def is_open(name):
    """Whether a lesson was rewritten: it needs the front door alone."""
    return not any(module.startswith("rmqlab.") for module in imported(name))


def tasks_of(name):
    return f"solutions/{name.removesuffix('.ipynb')}_tasks.ipynb"


OPEN = [name for name in LESSONS if is_open(name)]


def test_closed_lessons_become_fewer():
    assert len(LESSONS) - len(OPEN) <= CLOSED
    assert sum(module.startswith("rmqlab.") for name in LESSONS for module in imported(name)) <= DEEP_IMPORTS


def test_at_most_a_third_of_the_cells_has_one_line():
    cells = [cell["source"] for name in LESSONS for cell in code_cells(load(name))]
    cells = [source for source in cells if ".play(" not in source]  # a film's cell says no more
    short = [source for source in cells if len(source.strip().splitlines()) <= 1 and "import" not in source]
    assert len(short) / len(cells) <= ONE_LINE_SHARE
    # in a lesson that was rewritten, less than half
    for name in OPEN:
        sources = [cell["source"] for cell in code_cells(load(name))]
        short = [one for one in sources if len(one.strip().splitlines()) <= 1 and "import" not in one]
        assert len(short) <= len(sources) / 2, f"{name}: {len(short)} of {len(sources)} cells have one line"


@pytest.mark.parametrize("name", [*OPEN, *(tasks for tasks in map(tasks_of, OPEN) if tasks in SOLUTIONS)])
def test_open_lesson_needs_the_front_door_alone(name):
    assert {module.partition(".")[0] for module in imported(name)} <= MAY_IMPORT
    assert not [module for module in imported(name) if module.startswith("rmqlab.")]


@pytest.mark.parametrize("name", [name for name in OPEN if name in WITH_A_RULE])
def test_open_lesson_shows_its_rule_and_replaces_it(name):
    """In the lesson, or in its second part as 01 does in 01b."""
    parts = [name, *(part for part in LESSONS if part.startswith(f"{name[:2]}b_"))]
    source = "\n".join(cell["source"] for part in parts for cell in code_cells(load(part)))
    assert re.search(r"RULES\[[^]]+\]\.source\(|\brules\.source\(|\.source\(", source), "the rule is not shown"
    assert re.search(r"\.replace\(\s*\w+=", source), "the rule is not replaced"


@pytest.mark.parametrize("name", [name for name in OPEN if name in WITH_A_RULE and tasks_of(name) in SOLUTIONS])
def test_a_task_asks_for_a_rule(name):
    """In one task at least the learner writes a function, which the check is given."""
    cells = [cell["source"] for cell in code_cells(load(tasks_of(name)))]
    written = {name for source in cells for name in re.findall(r"^def (\w+)\(", source, re.MULTILINE)}
    checked = re.findall(r"rmqlab\.check\(\s*\"[^\"]+\",\s*(.+)\)", "\n".join(cells))
    assert [answer for answer in checked if any(re.search(rf"\b{one}\b", answer) for one in written)], checked


@pytest.mark.parametrize("name", OPEN)
def test_open_lesson_locks_its_guess(name):
    """The cell tagged `guess` calls `rmqlab.guess`, so a learner's copy stops there; nothing above it runs anything.

    So a picture above the guess shows what is put in, or what a recording or notebook 01 has told already.
    A cell tagged `setting` lets members start, and sends nothing.
    """
    cells = code_cells(load(name))
    tagged = [number for number, cell in enumerate(cells) if "guess" in cell["metadata"].get("tags", ())]
    assert tagged
    assert all("rmqlab.guess(" in cells[number]["source"] for number in tagged)
    above = [cell for cell in cells[: tagged[0]] if any(SVG in output.get("data", {}) for output in cell["outputs"])]
    assert len(above) <= 1
    sending = r"\.send\(|funnel|simulate"
    for cell in above:
        members = "setting" in cell["metadata"].get("tags", ())
        assert not re.search(sending if members else rf"\bLab\(|\.run\(|{sending}", cell["source"]), cell["id"]
