"""Networks of notes whose words mean something to the readers of some format."""

from __future__ import annotations

from hypothesis import strategies as st

from amem_cli.graph.graph import Edge, Graph
from amem_cli.index.records import NoteSummary

MEANINGFUL = (
    '"', '"];', '"]', "\\", "\\N", "\\n", "a\\", "<b>", "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", "javascript:alert(1)", "end", "subgraph x", "graph TD",
    "`**bold**`", "`", "#quot;", "#35;", "&amp;", "&lt;", "&#60;", ";", "%%",
    '%%{init: {"a": 1}}%%', "1. one", "- item", "# head", "style a:b#35; c", "--> n1", "|", "||",
    "classDef x fill:#fff;", "click n1 call alert()", "$$x$$", "$", "^", "fa:fa-car", ":::x", "{}",
    "@{ shape: rect }", "(x)", "\n", "\r\n", "\t", "\x00", "\x1b[31m", "\x9b31m", "\u202eevil",
    "\u2028", "\ufeff", "\uffff", "ﬂ°°59¶ß", "ﬂ°quot¶ß", "😀", "👩\u200d🚀", "日本語", "ع", "]]>",
    "<!--", "--", "'", "", " ", "x" * 300, "\ud800",
)  # fmt: skip

TEXTS = st.lists(st.one_of(st.sampled_from(MEANINGFUL), st.text(max_size=12)), max_size=4).map(
    " ".join
)


@st.composite
def hostile_networks(draw: st.DrawFn, most: int = 5) -> Graph:
    """A few notes with some links among them."""
    paths = draw(st.lists(TEXTS.map("p{}.md".format), min_size=1, max_size=most, unique=True))
    nodes = {
        path: NoteSummary(
            path,
            draw(st.one_of(st.none(), TEXTS)),
            draw(TEXTS),
            draw(TEXTS),
            "",
            (draw(TEXTS),),
            (draw(TEXTS),),
            draw(TEXTS),
            (),
            False,
            "",
            "",
            "",
        )
        for path in sorted(paths)
    }
    pairs = st.tuples(st.sampled_from(paths), st.sampled_from(paths))
    links = draw(st.lists(pairs.filter(lambda pair: pair[0] != pair[1]), max_size=6, unique=True))
    edges = tuple(
        Edge(
            source,
            target,
            draw(st.sampled_from(("property", "wikilink"))),
            draw(st.sampled_from(("machine", "person"))),
            draw(st.one_of(TEXTS, st.sampled_from(("", "related", "supports", "contradicts")))),
            draw(st.one_of(st.none(), st.floats(0, 1))),
            draw(TEXTS),
        )
        for source, target in sorted(links)
    )
    return Graph(nodes, edges, ()) if len(paths) > 1 else Graph(nodes, (), ())
