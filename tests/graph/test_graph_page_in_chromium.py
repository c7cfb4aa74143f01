"""The page of the network as a reader meets it, in a headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from amem_cli.graph.clusters import clusters
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
    file = folder / "small.html"
    network = small_network()
    page = graph_page(
        network,
        vault_name="My notes & more",
        clusters=clusters(network),
        passages=lambda path: [f"What {path} begins with."],
    )
    file.write_text(page, encoding="utf-8")
    return file


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
    file = folder / "focus.html"
    page = graph_page(small_network(), vault_name="v", clusters=[], focus="bread/Rye.md")
    file.write_text(page, encoding="utf-8")
    with visiting(browser, file) as visit:
        assert visit.page.inner_text("#panel h2") == "Rye"
        place = visit.page.evaluate(PLACE_OF_THE_NOTE_IN_VIEW)
        # The panel covers the right side of the window.
        assert 0 < place["x"] < 700 and 0 < place["y"] < 600


def test_a_page_without_notes_says_so(browser: Browser, folder: Path) -> None:
    file = folder / "empty.html"
    page = graph_page(Graph({}, (), ()), vault_name="v", clusters=[])
    file.write_text(page, encoding="utf-8")
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


def test_a_note_that_is_clicked_does_not_lie_under_what_it_says(
    browser: Browser, folder: Path
) -> None:
    network = made_up_network(60, 120)
    file = folder / "covered.html"
    file.write_text(graph_page(network, vault_name="V", clusters=()), encoding="utf-8")
    with visiting(browser, file) as visit:
        place = visit.page.evaluate(
            """() => {
              const { sigma } = amem.shown.drawing;
              const { left, top } = sigma.getContainer().getBoundingClientRect();
              return amem.shown.network.notes
                .map(({ index }) => sigma.getNodeDisplayData(`${index}`))
                .map((data) => sigma.framedGraphToViewport(data))
                .map(({ x, y }) => [x + left, y + top])
                .reduce((best, each) => (each[0] > best[0] ? each : best));
            }"""
        )
        visit.page.mouse.click(*place)
        visit.page.wait_for_selector("#panel:not([hidden])")
        now = visit.page.evaluate(PLACE_OF_THE_NOTE_IN_VIEW)
        panel = visit.page.evaluate(
            "document.getElementById('panel').getBoundingClientRect().left"
            " - document.getElementById('canvas').getBoundingClientRect().left"
        )
        assert 0 < now["x"] < panel


def test_each_link_is_counted_and_notes_of_one_title_are_told_apart(
    browser: Browser, folder: Path
) -> None:
    file = folder / "namesakes.html"
    notes = {path: made_up_note(path, "index") for path in ("a/index.md", "b/index.md")}
    edges = (
        Edge("a/index.md", "b/index.md", "wikilink", "person"),
        Edge("b/index.md", "a/index.md", "wikilink", "person"),
    )
    page = graph_page(Graph(notes, edges, ()), vault_name="v", clusters=[])
    file.write_text(page, encoding="utf-8")
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
        assert page.is_visible("#filters")
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.is_visible("#list tbody tr >> nth=4") and page.is_hidden("#canvas")


@pytest.mark.parametrize("view", ["graph", "list"])
def test_hostile_notes_run_nothing(browser: Browser, folder: Path, view: str) -> None:
    network = hostile_network()
    groups = [(HOSTILE[0], list(network.nodes)[:3]), (HOSTILE[1], list(network.nodes)[3:])]
    page_text = graph_page(
        network, vault_name=HOSTILE[0], clusters=groups, passages=lambda path: [HOSTILE[1]]
    )
    file = folder / f"hostile-{view}.html"
    file.write_text(page_text, encoding="utf-8")
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
    file = folder / "many.html"
    page_text = graph_page(network, vault_name="Many", clusters=sorted(by_tag.items()))
    file.write_text(page_text, encoding="utf-8")
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
