"""The film of a run: every message is somewhere in each frame, and at the end they lie where their fates say."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections import Counter

import pytest

import rmqlab
from rmqlab.run.fates import Fate
from rmqlab_tools.show.film import film as film_module
from rmqlab_tools.show.film.film import Film, component_source
from rmqlab_tools.show.film.frames import Place, Station, Step
from rmqlab_tools.show.film.stage import MOST_NAMED


def eight(**ways):
    """The eight messages; `ways` are further ways of the two members."""
    lab = rmqlab.Lab(topics={"T": 4}, **ways.pop("lab", {}))
    lab.consumer("A", group="G", subscribe={"T": "tagA"}, **ways)
    lab.run(seconds=60)
    lab.consumer("B", group="G", subscribe={"T": "tagB"}, **ways)
    lab.run(seconds=60)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    lab.run(seconds=25)
    return lab


def of_proxy():
    return eight(lab={"version": "5.5.0"}, kind="grpc")


def of_pop():
    return eight(lab={"version": "5.5.0"}, kind="pop")


def of_broadcast():
    return eight(mode="broadcasting")


def with_a_restart():
    lab = eight()
    lab.stop("A")
    lab.run(seconds=5)
    lab.send("T", ["tagB"])
    lab.run(seconds=5)
    lab.consumer("A", group="G", subscribe={"T": "tagA || tagB"})
    lab.run(seconds=25)
    return lab


RUNS = {"push": eight, "grpc": of_proxy, "pop": of_pop, "broadcasting": of_broadcast, "restart": with_a_restart}


@pytest.fixture(scope="module", params=RUNS)
def film(request):
    return RUNS[request.param]().play()


@pytest.fixture(scope="module")
def loss():
    return eight().play()


def test_at_the_end_messages_lie_where_their_fates_say(film):
    last = film.frames[-1]
    fates = film.view.fates
    assert Counter(place.what for place in last.places) == Counter(fate.fate for fate in fates)
    for place, fate in zip(last.places, fates, strict=True):
        if fate.fate not in {Fate.WAITING, Fate.NO_OWNER, Fate.RETRYING}:
            assert place.member == fate.culprit


def test_events_tell_every_fate(film):
    """Nothing was put in its place at the end for want of an event that tells it."""
    assert [frame.text for frame in film.frames if frame.step is Step.SKIP and frame.t == film.end] == []


def test_each_message_is_at_one_place_and_what_was_sent_stays_sent(film):
    sent = set()
    for frame in film.frames:
        assert len(frame.places) == len(film.messages)
        assert all(frame.places[number].what is not Station.UNSENT for number in sent)
        sent |= {number for number, place in enumerate(frame.places) if place.what is not Station.UNSENT}
    assert sent == set(range(len(film.messages)))


def test_frames_are_in_order_and_offsets_never_go_back(film):
    times = [frame.t for frame in film.frames]
    assert times == sorted(times)
    for before, after in zip(film.frames, film.frames[1:], strict=False):
        assert all(after.offsets[queue] >= offset for queue, offset in before.offsets.items())


def test_a_frame_changes_something_or_says_something_new(film):
    for before, after in zip(film.frames, film.frames[1:], strict=False):
        assert (before.text, before[5:]) != (after.text, after[5:])


def test_each_moved_message_is_named_by_its_frame(film):
    for before, after in zip(film.frames, film.frames[1:], strict=False):
        moved = {n for n, (was, now) in enumerate(zip(before.places, after.places, strict=True)) if was != now}
        assert moved <= set(after.messages)
        if len(moved) <= MOST_NAMED:
            assert all(film.messages[n].body in after.text for n in moved)


def test_the_eight_messages(loss):
    steps = Counter(frame.step for frame in loss.frames)
    assert (steps[Step.DROP], steps[Step.CLIENT], steps[Step.TAKE], steps[Step.SEND]) == (4, 2, 2, 8)
    assert len(loss.frames) < 50  # of some six hundred facts: idle time has none
    slots = [frame.slot.expression for frame in loss.frames if frame.step is Step.SLOT]
    assert slots == ["tagA", "tagB", "tagA", "tagB"]
    drop = next(frame for frame in loss.frames if frame.step is Step.DROP)
    assert str(drop.text) == "A pulls queue 0, and the broker drops MsgStr0 (tagA): the slot lets through tagB."
    assert drop.places[0] == Place(Fate.DROPPED_BY_BROKER_TAG, "A")
    assert ("A", 0) not in drop.waits or drop.places[4].what is Fate.WAITING


def test_of_poppers_the_line_is_shown_and_who_is_asked():
    film = of_proxy().play()
    assert any(len(frame.line) == 2 for frame in film.frames)
    asked = [frame for frame in film.frames if frame.step is Step.LINE]
    assert asked
    assert film.data()["line"] is True


def test_one_group_of_several_is_asked_for():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G1", subscribe={"T": "tagA"})
    lab.consumer("B", group="G2", subscribe={"T": "tagB"})
    lab.run(seconds=5)
    lab.send("T", ["tagA", "tagB"])
    lab.run(seconds=5)
    assert set(lab.play().view.names) == {"A"}
    assert "B" in str(lab.play(group="G2"))
    with pytest.raises(rmqlab.BadInput, match="nobody subscribes 'G3'"):
        lab.play(group="G3")


def test_a_run_that_nobody_would_watch_is_refused(monkeypatch):
    monkeypatch.setattr(film_module, "LONGEST_FRAMES", 20)
    with pytest.raises(rmqlab.BadInput, match="the film has 42 steps, and nobody watches more than 20"):
        eight().play()


def test_html_holds_the_steps_in_words_and_the_data(film):
    text = film.html()
    steps = [html.unescape(step) for step in re.findall(r"<li>(.*?)</li>", text)]
    assert steps == film.steps()
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])
    assert data == json.loads(json.dumps(film.data()))
    assert len(data["frames"]) == len(steps)
    assert text.count(component_source()) == 1
    assert len(film.html(component=False)) < 16_000


def test_changes_add_up_to_the_frames(film):
    """What `film.js` does with them, in Python."""
    data = film.data()
    places, members = {}, {}
    for change, frame in zip(data["frames"], film.frames, strict=True):
        places |= change.get("m", {})
        members = change.get("a", members)
        named = [data["boxes"][places[str(number)]][0] for number in range(len(film.messages))]
        assert named == [film_module.box_of(p, m) for p, m in zip(frame.places, film.messages, strict=True)]
        assert members == frame.members


def test_what_others_wrote_stays_text():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(seconds=5)
    lab.send("T", ["</script><img src=x onerror=alert(1)>"])
    lab.run(seconds=5)
    text = lab.play().html(component=False)
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>") == 1


def test_the_component_names_every_word_once():
    """Each text of the component comes from the catalogue, and none is there in vain."""
    source = component_source()
    asked = set(re.findall(r'say\("(\w+)"', source)) | set(re.findall(r'button\("(\w+)"', source))
    assert asked <= set(film_module.WORDS)
    assert set(film_module.WORDS) - asked <= {"unsent", "at_client", "got", "unasked"}  # labels of boxes


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_the_component_is_javascript():
    ran = subprocess.run(
        ["node", "--check", "-"], check=False, input=component_source(), text=True, capture_output=True
    )
    assert ran.returncode == 0, ran.stderr


def test_save_writes_a_page(tmp_path, loss):
    page = loss.save(tmp_path / "film.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<title>Film of group G, topic T</title>" in page


def test_in_chinese(monkeypatch, loss):
    monkeypatch.setenv("RMQLAB_LANG", "zh")
    film = Film(loss.view.run)
    assert "Broker 丢弃" in film.steps()[19]
    assert film.data()["words"]["play"] == "播放"
    latin = [
        step for step in film.steps() if re.search(r"[a-z]{4,}", re.sub(r"MsgStr\d|tag[AB]|Topic|Tag|Broker", "", step))
    ]
    assert latin == []
