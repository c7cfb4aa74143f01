"use strict";
// The note in view: what it says, and its links with who made them and why.

amem.makePanel = ({ network, state, look, show, drawing }) => {
  const panel = amem.byId("panel");

  const chip = (tag) => amem.element("button", {
    type: "button", class: "chip", "aria-pressed": String(state.get().tags.has(tag)),
    title: "Show only notes with this tag", text: `#${tag}`,
    on: { click: () => state.toggle("tags", tag) },
  });

  const strength = (value) => amem.element("span", {
    class: "strength", role: "img", "aria-label": `strength ${value}`, title: `strength ${value}`,
    style: { "--strength": `${Math.round(Math.max(0, Math.min(1, value)) * 100)}%` },
  });

  const linkItem = (link, index) => {
    const other = network.notes[amem.otherEnd(link, index)];
    const colour = amem.relationColour(look(), link.relation);
    return amem.element("li", { class: "link" }, [
      amem.element("button", { type: "button", class: "link-title", on: { click: () => show(other.index) } }, [
        amem.element("span", { class: "dot", style: { "--dot": amem.clusterColour(look(), other.cluster) } }),
        amem.element("span", { text: other.title }),
      ]),
      amem.element("p", { class: "link-facts" }, [
        amem.element("span", {
          class: link.suggested ? "line dotted" : link.by === "machine" ? "line dashed" : "line",
          style: { "--line": colour },
        }),
        amem.element("span", { text: amem.relationName(link.relation) }),
        amem.element("span", {
          class: "by", text: link.suggested ? "suggested" : `by ${amem.makerName(link.by)}`,
        }),
        typeof link.strength === "number" ? strength(link.strength) : null,
      ]),
      link.reason ? amem.element("p", { class: "reason", text: link.reason }) : null,
    ]);
  };

  const linkList = (heading, links, index) => (!links.length ? null : amem.element("section", {}, [
    amem.element("h3", {}, [
      amem.element("span", { text: heading }),
      amem.element("span", { class: "count", text: links.length.toLocaleString("en") }),
    ]),
    amem.element("ul", { class: "links" }, links.map((link) => linkItem(link, index))),
  ]));

  const facts = (note) => {
    const cluster = network.clusters[note.cluster];
    const day = note.created.slice(0, 10);
    return amem.element("p", { class: "facts" }, [
      cluster ? amem.element("span", { class: "dot", style: { "--dot": amem.clusterColour(look(), note.cluster) } }) : null,
      cluster ? amem.element("span", { text: cluster.name }) : null,
      day ? amem.element("time", { datetime: day, text: day }) : null,
      note.isPrivate ? amem.element("span", { class: "private", text: "private" }) : null,
    ]);
  };

  const steps = () => amem.element("div", { class: "steps", role: "group", "aria-label": "How many links away" }, [
    amem.element("span", { text: "Links away" }),
    ...[1, 2, 3].map((depth) => amem.element("button", {
      type: "button", text: String(depth), "aria-pressed": String(state.get().depth === depth),
      on: {
        click: () => {
          state.change({ depth });
          if (state.get().view === "graph") drawing().reveal(state.get().selected);
        },
      },
    })),
  ]);

  const actions = (note) => amem.element("div", { class: "actions" }, [
    amem.element("a", {
      class: "primary", href: amem.obsidianAddress(network.vault, note.path), rel: "noreferrer",
      text: "Open in Obsidian",
    }),
    drawing() && note.near.size ? steps() : null,
  ]);

  const content = (note) => {
    const { linkShown } = state.shown();
    const links = note.links.filter(linkShown);
    const from = links.filter((link) => link.source === note.index);
    const to = links.filter((link) => link.target === note.index);
    const suggested = network.suggested.filter((link) =>
      state.get().suggested && (link.source === note.index || link.target === note.index));
    return [
      amem.element("header", {}, [
        amem.element("h2", { id: "panel-title", tabindex: "-1", text: note.title }),
        amem.element("button", {
          type: "button", class: "icon", "aria-label": "Close the note", title: "Close (Esc)",
          text: "×", on: { click: () => state.change({ selected: -1 }) },
        }),
      ]),
      facts(note),
      note.context ? amem.element("p", { class: "context", text: note.context }) : null,
      note.beginning ? amem.element("p", { class: "beginning", text: note.beginning }) : null,
      note.tags.length ? amem.element("div", { class: "chips" }, note.tags.map(chip)) : null,
      note.keywords.length
        ? amem.element("p", { class: "keywords", text: note.keywords.join(" · ") }) : null,
      actions(note),
      linkList("Links to", from, note.index),
      linkList("Linked from", to, note.index),
      linkList("Suggested", suggested, note.index),
      links.length ? null : amem.element("p", { class: "told", text: "No links yet." }),
      amem.element("p", { class: "path", text: note.path }),
    ].filter(Boolean);
  };

  let drawn = -1;
  const draw = () => {
    const { selected } = state.get();
    panel.hidden = selected < 0;
    document.body.classList.toggle("with-panel", selected >= 0);
    if (selected < 0) {
      drawn = -1;
      return panel.replaceChildren();
    }
    const holds = panel.contains(document.activeElement);
    const controls = () => [...panel.querySelectorAll("button, a")];
    const at = holds ? controls().indexOf(document.activeElement) : -1;
    const note = network.notes[selected];
    panel.replaceChildren(...content(note));
    const isSame = drawn === selected;
    drawn = selected;
    if (!isSame) panel.scrollTop = 0;
    if (!isSame) amem.announce(`${note.title}, ${amem.counted(note.near.size, "linked note")}`);
    // Whoever went on from within the panel stays in it.
    if (holds && isSame) controls()[at]?.focus({ preventScroll: true });
    else if (holds) amem.byId("panel-title").focus({ preventScroll: true });
    return undefined;
  };
  return { draw };
};
