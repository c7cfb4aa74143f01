"""The page of the network as a reader meets it, in a headless Chromium."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from amem_cli.graph.clusters import Cluster, clusters
from amem_cli.graph.graph import Edge, Graph
from amem_cli.graph.page import graph_page
from tests.browser import chromium, visiting
from tests.graph.test_graph_page import HOSTILE, hostile_network
from tests.networks import made_up_network, made_up_note

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PIXELS = """() => {
  const count = (canvas) => {
    const copy = document.createElement('canvas');
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext('2d');
    context.drawImage(canvas, 0, 0);
    const data = context.getImageData(0, 0, copy.width, copy.height).data;
    let filled = 0;
    for (let at = 3; at < data.length; at += 4) filled += data[at] > 0;
    return filled;
  };
  const { sigma } = amem.shown.drawing;
  sigma.refresh();
  return Object.fromEntries(
    ['edges', 'nodes', 'names'].map((id) => [id, count(sigma.getCanvases()[id])]));
}"""

PLACE_OF_THE_NOTE_IN_VIEW = """() => {
  const { drawing: { sigma }, state } = amem.shown;
  return sigma.framedGraphToViewport(sigma.getNodeDisplayData(String(state.get().selected)));
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def page_in(folder: Path, network: Graph, **options: Any) -> Path:
    """The page of a network as a file."""
    file = folder / "page.html"
    page = graph_page(network, **{"vault_name": "v", "clusters": clusters(network), **options})
    file.write_text(page, encoding="utf-8")
    return file


def small_network() -> Graph:
    made = {
        path: made_up_note(path, title, tags=tags, aliases=aliases, context=f"About {title}.")
        for path, title, tags, aliases in (
            ("bread/Sourdough.md", "Sourdough", ("bread",), ("wild yeast",)),
            ("bread/Rye.md", "Rye", ("bread",), ()),
            ("bread/Oven.md", "Oven", ("kitchen",), ()),
            ("Émile.md", "Émile Zola", ("book",), ()),
            ("alone.md", "Alone", (), ()),
        )
    }
    edges = (
        Edge("bread/Rye.md", "bread/Oven.md", "wikilink", "person"),
        Edge(
            "bread/Sourdough.md", "bread/Rye.md", "property", "machine", "supports", 0.83,
            "Rye needs the acid of a sourdough.",
        ),
        Edge("Émile.md", "bread/Oven.md", "wikilink", "person"),
    )  # fmt: skip
    return Graph(made, edges, ())


@pytest.fixture(scope="module")
def small(folder: Path) -> Path:
    file = page_in(
        folder,
        small_network(),
        vault_name="My notes & more",
        passages=lambda path: [f"What {path} begins with."],
    )
    return file.rename(folder / "small.html")


def choose(page: Page, query: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(query)
    page.keyboard.press("Enter")


def shown(page: Page) -> Any:
    return page.evaluate(
        "() => { const { notes, pairs } = amem.shown.state.shown();"
        " return { notes: notes.filter(Boolean).length, links: pairs.filter(Boolean).length }; }"
    )


def test_notes_links_and_labels_are_drawn(browser: Browser, small: Path) -> None:
    with visiting(browser, small) as visit:
        drawn = visit.page.evaluate(PIXELS)
        assert all(count > 100 for count in drawn.values()), drawn
        assert visit.page.inner_text("#counts") == "5 notes · 3 links"
        assert (visit.troubles, visit.requests) == ([], [])


def test_suggestions_are_drawn_and_told_where_the_reader_asks_for_them(
    browser: Browser, folder: Path
) -> None:
    edge = Edge(
        "bread/Sourdough.md", "alone.md", "property", "machine", "causes", 0.4,
        "Both speak of yeast.", suggested=True,
    )  # fmt: skip
    file = page_in(folder, replace(small_network(), suggested=(edge,)))
    strands = """() => {
      amem.shown.drawing.sigma.refresh();
      return !amem.shown.drawing.sigma.getCanvases().strands.hidden;
    }"""
    with visiting(browser, file) as visit:
        assert visit.page.inner_text("#counts") == "5 notes · 3 links"
        assert not visit.page.evaluate(strands)
        visit.page.check("#suggested input")
        assert visit.page.evaluate(strands)
        assert visit.page.inner_text("#counts") == "5 notes · 3 links"
        choose(visit.page, "alone")
        text = visit.page.inner_text("#panel")
        for part in ("suggested", "Sourdough", "causes", "Both speak of yeast."):
            assert part.casefold() in text.casefold()
        visit.page.reload()
        assert visit.page.is_checked("#suggested input")
        assert (visit.troubles, visit.requests) == ([], [])


def test_search_finds_by_title_alias_tag_and_path(browser: Browser, small: Path) -> None:
    with visiting(browser, small) as visit:
        for query, title in (
            ("sour", "Sourdough"),
            ("wild", "Sourdough"),
            ("#kitchen", "Oven"),
            ("emile", "Émile Zola"),
            ("bread/ry", "Rye"),
        ):
            visit.page.fill("#search", query)
            assert visit.page.inner_text("#results [aria-selected=true] .result-title") == title
        visit.page.fill("#search", "nothing like it")
        assert visit.page.inner_text("#results") == "No note matches"


def test_enter_shows_what_the_note_says_and_why_it_is_linked(browser: Browser, small: Path) -> None:
    with visiting(browser, small) as visit:
        choose(visit.page, "rye")
        text = visit.page.inner_text("#panel")
        for part in (
            "Rye", "About Rye.", "What bread/Rye.md begins with.", "#bread", "Oven", "by you",
            "Sourdough", "supports", "by amem", "Rye needs the acid of a sourdough.",
        ):  # fmt: skip
            assert part in text
        assert visit.page.get_attribute("#panel .primary", "href") == (
            "obsidian://open?vault=My%20notes%20%26%20more&file=bread%2FRye.md"
        )
        visit.page.click("#panel .link-title:has-text('Sourdough')")
        assert visit.page.inner_text("#panel h2") == "Sourdough"


def test_a_click_on_a_dot_shows_its_note_and_one_beside_it_closes_it(
    browser: Browser, small: Path
) -> None:
    with visiting(browser, small) as visit:
        place = visit.page.evaluate(
            "() => { const { sigma } = amem.shown.drawing; const { left, top } ="
            " sigma.getContainer().getBoundingClientRect(); const at ="
            " sigma.framedGraphToViewport(sigma.getNodeDisplayData('0'));"
            " return { x: left + at.x, y: top + at.y }; }"
        )
        visit.page.mouse.move(place["x"], place["y"])
        visit.page.mouse.click(place["x"], place["y"])
        visit.page.wait_for_selector("#panel h2")
        assert visit.page.inner_text("#panel h2") == "Sourdough"
        visit.page.keyboard.press("Escape")
        assert visit.page.is_hidden("#panel")


def test_filters_leave_notes_and_links_out(browser: Browser, small: Path) -> None:
    with visiting(browser, small) as visit:
        page = visit.page
        page.click("#tags .chip:has-text('bread')")
        assert shown(page) == {"notes": 2, "links": 1}
        page.click("#show-all")
        page.uncheck("#makers label:has-text('Made by you') input")
        assert shown(page) == {"notes": 5, "links": 1}
        page.click("#show-all")
        page.uncheck("#relations label:has-text('supports') input")
        assert shown(page) == {"notes": 5, "links": 2}
        page.click("#show-all")
        page.uncheck("#alone input")
        assert shown(page) == {"notes": 4, "links": 3}
        page.click("#show-all")
        page.click("#clusters .row >> nth=0")
        assert 0 < shown(page)["notes"] < 5
        page.click("#show-all")
        assert shown(page) == {"notes": 5, "links": 3}


def test_everything_can_be_done_by_keyboard(browser: Browser, small: Path) -> None:
    with visiting(browser, small) as visit:
        page = visit.page
        choose(page, "rye")
        assert page.evaluate("document.activeElement.id") == "canvas"
        seen = set()
        for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
            page.keyboard.press(key)
            seen.add(page.inner_text("#panel h2"))
        assert len(seen) > 1
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "panel-title"
        page.keyboard.press("Escape")
        assert page.is_hidden("#panel")
        page.keyboard.press("l")
        assert page.is_visible("#list table") and page.locator("#list tbody tr").count() == 5
        page.keyboard.press("?")
        assert page.is_visible("#help")
        page.keyboard.press("Escape")
        assert page.is_hidden("#help")


def test_every_control_has_a_name(browser: Browser, small: Path) -> None:
    with visiting(browser, small) as visit:
        choose(visit.page, "rye")
        nameless = visit.page.evaluate(
            "() => [...document.querySelectorAll('button, a, input, [tabindex]')].filter((each) =>"
            " !(each.textContent.trim() || each.getAttribute('aria-label') ||"
            " each.closest('label')?.textContent.trim())).map((each) => each.outerHTML)"
        )
        assert nameless == []


def test_the_page_is_dark_where_the_reader_likes_it_so(browser: Browser, small: Path) -> None:
    def paper(page: Page) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return int(colour.split("(")[1].split(",")[0])

    with visiting(browser, small, color_scheme="dark") as visit:
        assert paper(visit.page) < 60
        visit.page.keyboard.press("t")
        assert paper(visit.page) > 200


def test_the_address_keeps_what_the_reader_chose(browser: Browser, small: Path) -> None:
    with visiting(browser, small) as visit:
        choose(visit.page, "rye")
        visit.page.click("#panel .chip")
        state = visit.page.evaluate("location.hash").lstrip("#")
    with visiting(browser, small, state=state) as visit:
        assert visit.page.inner_text("#panel h2") == "Rye"
        assert shown(visit.page) == {"notes": 2, "links": 1}


def test_a_page_that_opens_on_a_note_shows_it_in_the_drawing(
    browser: Browser, folder: Path
) -> None:
    file = page_in(folder, small_network(), focus="bread/Rye.md")
    with visiting(browser, file) as visit:
        assert visit.page.inner_text("#panel h2") == "Rye"
        place = visit.page.evaluate(PLACE_OF_THE_NOTE_IN_VIEW)
        drawing = visit.page.locator("#canvas").bounding_box()
        assert drawing is not None
        assert 0 < place["x"] < drawing["width"] and 0 < place["y"] < drawing["height"]


def test_a_page_without_notes_says_so(browser: Browser, folder: Path) -> None:
    file = page_in(folder, Graph({}, (), ()))
    with visiting(browser, file) as visit:
        assert "no notes yet" in visit.page.inner_text("#told")
        assert visit.troubles == []


def test_filters_that_leave_nothing_say_so_and_can_be_taken_back(
    browser: Browser, small: Path
) -> None:
    for view in ("graph", "list"):
        state = f"tag=book&cluster=%23bread&view={view}"
        with visiting(browser, small, state=state) as visit:
            told = visit.page.locator("#told")
            assert told.text_content() == "No note has everything that is chosen in the filters."
            again = visit.page.get_by_role("button", name="Show everything again")
            assert again.bounding_box()["y"] < 600  # type: ignore[index]
            again.click()
            assert told.text_content() == ""


def test_the_first_stop_of_the_keyboard_leads_to_the_notes_and_keeps_what_was_chosen(
    browser: Browser, small: Path
) -> None:
    with visiting(browser, small, state="tag=bread") as visit:
        visit.page.keyboard.press("Tab")
        visit.page.keyboard.press("Enter")
        assert visit.page.evaluate("document.activeElement.id") == "canvas"
        assert visit.page.evaluate("location.hash") == "#tag=bread"
        visit.page.keyboard.press("l")
        visit.page.evaluate("document.getElementById('skip').focus()")
        visit.page.keyboard.press("Enter")
        assert visit.page.evaluate("document.activeElement.matches('#list tbody button')")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 780)])
def test_a_note_in_view_and_its_linked_notes_lie_beside_the_panel(
    browser: Browser, folder: Path, width: int, height: int
) -> None:
    file = page_in(folder, made_up_network(60, 120))
    with visiting(browser, file, viewport={"width": width, "height": height}) as visit:
        for _ in range(2):
            # The drawing takes the room of a panel that was closed in one of the next frames.
            visit.page.wait_for_function(
                """() => {
                  const { sigma } = amem.shown.drawing;
                  const room = sigma.getContainer().getBoundingClientRect();
                  const { width, height } = sigma.getDimensions();
                  return amem.byId("panel").hidden
                    && Math.abs(room.width - width) < 1 && Math.abs(room.height - height) < 1;
                }"""
            )
            place = visit.page.evaluate(
                """() => {
                  const { sigma } = amem.shown.drawing;
                  const { left, top } = sigma.getContainer().getBoundingClientRect();
                  return amem.shown.network.notes.filter(({ near }) => near.size > 2)
                    .map(({ index }) => sigma.getNodeDisplayData(`${index}`))
                    .map((data) => sigma.framedGraphToViewport(data))
                    .map(({ x, y }) => [x + left, y + top])
                    .reduce((best, each) => (each[0] > best[0] ? each : best));
                }"""
            )
            visit.page.mouse.click(*place)
            visit.page.wait_for_selector("#panel:not([hidden])")
            visit.page.wait_for_function(
                """() => {
                  const { drawing: { sigma }, network, state } = amem.shown;
                  const { width, height } = sigma.getContainer().getBoundingClientRect();
                  const at = network.notes[state.get().selected];
                  return [at.index, ...at.near.keys()]
                    .map((each) => sigma.framedGraphToViewport(sigma.getNodeDisplayData(`${each}`)))
                    .every(({ x, y }) => x > 0 && x < width && y > 0 && y < height);
                }"""
            )
            canvas, panel = (
                visit.page.locator(name).bounding_box() for name in ("#canvas", "#panel")
            )
            assert canvas and panel
            assert (
                canvas["x"] + canvas["width"] <= panel["x"]
                or canvas["y"] + canvas["height"] <= panel["y"]
            )
            visit.page.keyboard.press("Escape")


def luminance(colour: tuple[int, ...]) -> float:
    """As WCAG 2 reckons it."""
    light = [part / 255 for part in colour[:3]]
    light = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in light]
    return sum(part * share for part, share in zip(light, (0.2126, 0.7152, 0.0722), strict=True))


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    less, more = sorted((luminance(one), luminance(other)))
    return (more + 0.05) / (less + 0.05)


@pytest.mark.parametrize(("scheme", "notes"), [("light", 60), ("dark", 60), ("light", 1600)])
def test_every_line_of_amem_can_be_seen_on_a_plain_screen(
    browser: Browser, folder: Path, scheme: str, notes: int
) -> None:
    from PIL import Image

    file = page_in(folder, made_up_network(notes, 2 * notes))
    with visiting(browser, file, color_scheme=scheme, device_scale_factor=1) as visit:
        # Where some lines are, and with which colours all are meant to be drawn.
        drawn = visit.page.evaluate(
            """() => {
              const { drawing: { sigma }, network, state } = amem.shown;
              for (const id of ["nodes", "names"]) sigma.getCanvases()[id].style.display = "none";
              const { left, top } = sigma.getContainer().getBoundingClientRect();
              const placeOf = (index) => {
                const { x, y } = sigma.framedGraphToViewport(sigma.getNodeDisplayData(`${index}`));
                return { x: x + left, y: y + top };
              };
              const all = network.pairs
                .filter(({ links }) => links.every(({ by }) => by === "machine"))
                .map((pair) => ({ ...pair, ...sigma.getEdgeDisplayData(`${pair.index}`) }))
                .filter(({ hidden }) => !hidden);
              return {
                colours: [...new Set(all.map(({ color }) => color))],
                lines: all.slice(0, 40).map(({ source, target }) => [source, target].map(placeOf)),
              };
            }"""
        )
        visit.page.wait_for_timeout(100)
        picture = Image.open(io.BytesIO(visit.page.screenshot())).convert("RGB")
    paper = {"light": (0xFA, 0xF9, 0xF6), "dark": (0x14, 0x16, 0x1B)}[scheme]
    assert drawn["colours"] and drawn["lines"]
    for colour in drawn["colours"]:
        assert contrast(tuple(bytes.fromhex(colour[1:])), paper) >= 3, colour
    for begin, end in drawn["lines"]:
        for share in (0.4, 0.5, 0.6):
            x, y = (begin[axis] + share * (end[axis] - begin[axis]) for axis in ("x", "y"))
            around = [
                picture.getpixel((round(x) + dx, round(y) + dy))
                for dx in (-1, 0, 1)
                for dy in (-1, 0, 1)
            ]
            assert max(contrast(each, paper) for each in around) >= 3  # type: ignore[arg-type]


def a_map(folder: Path, links: int = 400) -> Path:
    """A page of a map of three groups, two of which lie at the top."""
    network = made_up_network(120, links)
    groups: dict[str, list[str]] = {}
    for path, note in network.nodes.items():
        groups.setdefault(note.tags[0], []).append(path)
    corners = ((-0.8, 0.8), (0.8, 0.8), (0.0, -0.9))
    places = {
        path: (x + 0.02 * (number % 7), y + 0.02 * (number // 7))
        for (x, y), paths in zip(corners, groups.values(), strict=False)
        for number, path in enumerate(paths)
    }
    found = [Cluster(*each) for each in groups.items() if each[1][0] in places]
    return page_in(folder, network, clusters=found, positions=places)


def test_a_map_has_its_top_where_its_picture_has_it_and_names_groups_where_they_lie(
    browser: Browser, folder: Path
) -> None:
    with visiting(browser, a_map(folder), viewport={"width": 1280, "height": 800}) as visit:
        for group in visit.page.evaluate(
            """() => {
              const { drawing: { sigma }, network } = amem.shown;
              const written = new Map();
              const write = CanvasRenderingContext2D.prototype.fillText;
              CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
                written.set(text, { x, y });
                write.call(this, text, x, y);
              };
              sigma.refresh();
              const placeOf = ({ index }) =>
                sigma.framedGraphToViewport(sigma.getNodeDisplayData(`${index}`));
              return network.clusters.map(({ name, notes }) => ({
                up: notes[0].y > 0, middle: sigma.getDimensions().height / 2,
                label: written.get(name), places: notes.map(placeOf),
              }));
            }"""
        ):
            xs, ys = ([place[axis] for place in group["places"]] for axis in ("x", "y"))
            assert (max(ys) < group["middle"]) == group["up"]
            assert min(xs) <= group["label"]["x"] <= max(xs)
            assert min(ys) - 40 <= group["label"]["y"] <= max(ys) + 40


def test_a_map_of_many_links_shows_those_of_the_note_in_view(
    browser: Browser, folder: Path
) -> None:
    with visiting(browser, a_map(folder)) as visit:
        assert visit.page.evaluate(PIXELS)["edges"] == 0
        assert "Point at a note to see its links." in visit.page.inner_text("#links")
        visit.page.press("#canvas", "ArrowRight")
        assert visit.page.evaluate(PIXELS)["edges"] > 0
    with visiting(browser, a_map(folder, 100)) as visit:
        assert visit.page.evaluate(PIXELS)["edges"] > 0
        assert visit.page.inner_text("#on-demand") == ""


def grown(folder: Path) -> Path:
    """A page of three notes of three days; a link of the first two was made on the fourth."""
    notes = {
        f"{day}.md": made_up_note(f"{day}.md", f"Note {day}", created=f"2026-03-0{day}T08:00:00Z")
        for day in (1, 2, 3)
    }
    edges = (
        Edge("1.md", "2.md", "property", "machine", "related", 0.9),
        Edge("1.md", "3.md", "wikilink", "person"),
    )
    made = {("1.md", "2.md"): "2026-03-04T10:00:00Z"}
    return page_in(folder, Graph(notes, edges, ()), clusters=[], made=made)


def test_the_network_grows_from_day_to_day_under_the_keyboard(
    browser: Browser, folder: Path
) -> None:
    file = grown(folder)
    with visiting(browser, file) as visit:
        page = visit.page
        told = page.locator("#until-told")
        assert told.inner_text() == "2026-03-04 · 3 notes · 2 links"
        page.focus("#until")
        page.keyboard.press("Home")
        assert told.inner_text() == "2026-03-01 · 1 note · 0 links"
        page.keyboard.press("ArrowRight")
        assert shown(page) == {"notes": 2, "links": 0}
        page.keyboard.press("ArrowRight")
        assert shown(page) == {"notes": 3, "links": 1}
        assert page.get_attribute("#until", "aria-valuetext") == "2026-03-03 · 3 notes · 1 link"
        state = page.evaluate("location.hash").lstrip("#")
    with visiting(browser, file, state=state) as visit:
        assert shown(visit.page) == {"notes": 3, "links": 1}
        visit.page.click("#show-all")
        assert shown(visit.page) == {"notes": 3, "links": 2}


def test_playing_shows_each_day_and_ends_with_everything(browser: Browser, folder: Path) -> None:
    with visiting(browser, grown(folder)) as visit:
        page = visit.page
        page.evaluate(
            "() => { amem.told = []; amem.shown.state.listen(() =>"
            " amem.told.push(amem.byId('until-told').textContent.slice(0, 10))); }"
        )
        page.focus("#canvas")
        page.keyboard.press("p")
        assert page.inner_text("#play") == "Pause"
        page.get_by_role("button", name="Play", exact=True).wait_for()
        assert page.evaluate("amem.told") == [f"2026-03-0{day}" for day in (1, 2, 3, 4)]
        assert shown(page) == {"notes": 3, "links": 2}
        page.evaluate("() => { for (const time of [1, 2]) amem.byId('play').click(); }")
        assert page.inner_text("#play") == "Play"


def test_each_link_is_counted_and_notes_of_one_title_are_told_apart(
    browser: Browser, folder: Path
) -> None:
    notes = {path: made_up_note(path, "index") for path in ("a/index.md", "b/index.md")}
    edges = (
        Edge("a/index.md", "b/index.md", "wikilink", "person"),
        Edge("b/index.md", "a/index.md", "property", "person"),
        # The same link again, as `amem stats` counts it.
        Edge("b/index.md", "a/index.md", "wikilink", "person"),
    )
    file = page_in(folder, Graph(notes, edges, ()), clusters=[])
    with visiting(browser, file) as visit:
        assert visit.page.inner_text("#counts") == "2 notes · 2 links"
        visit.page.keyboard.press("/")
        visit.page.keyboard.type("index")
        assert "b/index.md" in visit.page.inner_text("#results")
        visit.page.keyboard.press("Escape")
        visit.page.click("#view")
        assert "b/index.md" in visit.page.inner_text("#list")


def test_without_webgl_the_notes_are_a_list(browser: Browser, small: Path) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(small.as_uri())
    page.wait_for_selector("body[data-settled]")
    assert page.locator("#list tbody tr").count() == 5
    page.click("#list .link-title:has-text('Rye')")
    assert page.inner_text("#panel h2") == "Rye"
    context.close()


def test_a_narrow_window_and_paper_show_the_notes(browser: Browser, small: Path) -> None:
    with visiting(browser, small, viewport={"width": 380, "height": 720}) as visit:
        page = visit.page
        choose(page, "rye")
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        page.keyboard.press("Escape")
        page.click("#filters-toggle")
        legend, canvas = (page.locator(name).bounding_box() for name in ("#filters", "#canvas"))
        assert legend and canvas and legend["y"] + legend["height"] <= canvas["y"]
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.is_visible("#list tbody tr >> nth=4") and page.is_hidden("#canvas")


@pytest.mark.parametrize("view", ["graph", "list"])
def test_hostile_notes_run_nothing(browser: Browser, folder: Path, view: str) -> None:
    network = hostile_network()
    paths = list(network.nodes)
    groups = [Cluster(HOSTILE[0], paths[:3]), Cluster(HOSTILE[1], paths[3:])]
    named: dict[str, Any] = {"vault_name": HOSTILE[0], "clusters": groups}
    file = page_in(folder, network, passages=lambda path: [HOSTILE[1]], **named)
    with visiting(browser, file, state=f"view={view}&note=%3Cscript%3E") as visit:
        page = visit.page
        for index, text in enumerate(HOSTILE):
            page.evaluate("(index) => amem.shown.state.change({ selected: index })", index)
            assert page.text_content("#panel h2") == text
            assert page.get_attribute("#panel .primary", "href", timeout=1000).startswith(  # type: ignore[union-attr]
                "obsidian://open?vault="
            )
            page.fill("#search", text[:12])
        own = "script:not(body > script), img, svg, iframe, object, embed, base, form"
        assert page.locator(own).count() == 0
        assert (
            page.evaluate("({}).alert === undefined && Object.keys(Object.prototype).length") == 0
        )
        assert (visit.troubles, visit.requests) == ([], [])


def test_five_thousand_notes_answer_while_they_find_their_places(
    browser: Browser, folder: Path
) -> None:
    network = made_up_network(5000, 15000)
    by_tag: dict[str, list[str]] = {}
    for path, note in network.nodes.items():
        by_tag.setdefault(note.tags[0], []).append(path)
    file = page_in(folder, network, clusters=[Cluster(*each) for each in sorted(by_tag.items())])
    with visiting(browser, file, settled=False) as visit:
        page = visit.page
        choose(page, "history of jazz")
        assert "jazz" in page.inner_text("#panel h2")
        page.evaluate(
            "() => { amem.frames = 0; amem.shown.drawing.sigma.on('afterRender',"
            " () => { amem.frames += 1; }); }"
        )
        page.mouse.move(500, 500)
        page.mouse.down()
        for step in range(4):
            page.mouse.move(500 + 20 * step, 500)
        page.mouse.up()
        page.wait_for_function("amem.frames > 1")
        assert visit.troubles == []
