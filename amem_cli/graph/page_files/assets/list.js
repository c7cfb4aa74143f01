"use strict";
// The same notes as a table: for readers who hear the page, for paper, and where nothing can draw.

const FIRST_ROWS = 200;

amem.makeList = ({ network, state, find, colourOf, show }) => {
  const section = amem.byId("list");
  let rows = FIRST_ROWS;
  let order = "links";

  const orders = {
    links: (a, b) => b.near.size - a.near.size || a.index - b.index,
    title: (a, b) => a.title.localeCompare(b.title) || a.index - b.index,
    created: (a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1 : a.index - b.index),
  };

  const row = (note) => amem.element("tr", {}, [
    amem.element("th", { scope: "row" }, [amem.element("button", {
      type: "button", class: "link-title", "aria-current": state.get().selected === note.index ? "true" : null,
      on: { click: () => show(note.index) },
    }, [
      amem.element("span", { class: "dot", style: { "--dot": colourOf(note) } }),
      amem.element("span", { text: note.title }),
      note.isNamesake ? amem.element("span", { class: "list-path", text: note.path }) : null,
    ])]),
    amem.element("td", { class: "list-tags", text: note.tags.map((tag) => `#${tag}`).join("  ") }),
    amem.element("td", { class: "number", text: String(note.near.size) }),
    amem.element("td", { class: "number", text: note.created.slice(0, 10) }),
  ]);

  const heading = (name, text, kind) => amem.element("th", {
    scope: "col", class: kind, "aria-sort": order === name ? (name === "title" ? "ascending" : "descending") : null,
  }, [amem.element("button", {
    type: "button", class: "quiet", text: order === name ? `${text} ${name === "title" ? "↑" : "↓"}` : text,
    on: { click: () => { order = name; draw(); } },
  })]);

  const draw = () => {
    const { view, query } = state.get();
    section.hidden = view !== "list" || !network.notes.length;
    if (section.hidden) return;
    const { notes: shown } = state.shown();
    const matching = query.trim() ? new Set(find(query).map(({ index }) => index)) : null;
    const notes = network.notes
      .filter(({ index }) => shown[index] && (!matching || matching.has(index)))
      .sort(orders[order]);
    const rest = notes.length - rows;
    const hadFocus = section.contains(document.activeElement) ? document.activeElement.textContent : null;
    section.replaceChildren(
      amem.element("table", {}, [
        amem.element("caption", { class: "unseen", text: "Notes" }),
        amem.element("thead", {}, [amem.element("tr", {}, [
          heading("title", "Note"),
          amem.element("th", { scope: "col", class: "list-tags", text: "Tags" }),
          heading("links", "Links", "number"),
          heading("created", "Created", "number"),
        ])]),
        amem.element("tbody", {}, notes.slice(0, rows).map(row)),
      ]),
      ...(rest > 0 ? [amem.element("button", {
        type: "button", class: "quiet", text: `Show ${Math.min(rest, FIRST_ROWS).toLocaleString("en")} more`,
        on: { click: () => { rows += FIRST_ROWS; draw(); } },
      })] : []),
      // What the filters leave out is told above.
      ...(notes.length || !matching ? [] : [amem.element("p", { class: "told", text: "No note matches." })]));
    if (hadFocus === null) return;
    const same = [...section.querySelectorAll("button")].find((each) => each.textContent === hadFocus);
    if (same) same.focus({ preventScroll: true });
  };

  return {
    draw,
    drawForPaper: () => {
      section.hidden = false;
      rows = Math.max(rows, 2000);
      const { view } = state.get();
      state.get().view = "list";
      draw();
      state.get().view = view;
    },
  };
};
