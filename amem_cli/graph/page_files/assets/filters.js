"use strict";
// What the reader may leave out of the drawing; the legend of clusters is one of the filters.

const FIRST_CLUSTERS = 10;
const FIRST_TAGS = 14;

amem.makeFilters = ({ network, state, look }) => {
  const shownAll = { clusters: false, tags: false };

  const more = (name, total, first, redraw) => (total <= first ? null : amem.element("button", {
    type: "button", class: "quiet",
    text: shownAll[name] ? "Show fewer" : `Show all ${total.toLocaleString("en")}`,
    on: { click: () => { shownAll[name] = !shownAll[name]; redraw(); } },
  }));

  const clusterRow = (cluster) => amem.element("li", {}, [amem.element("button", {
    type: "button", class: "row", "aria-pressed": String(state.get().clusters.has(cluster.index)),
    title: cluster.name, on: { click: () => state.toggle("clusters", cluster.index) },
  }, [
    amem.element("span", { class: "dot", style: { "--dot": amem.clusterColour(look(), cluster.index) } }),
    amem.element("span", { class: "row-name", text: cluster.name }),
    amem.element("span", { class: "count", text: cluster.notes.length.toLocaleString("en") }),
  ])]);

  const drawClusters = () => {
    const section = amem.byId("clusters");
    section.hidden = network.clusters.length === 0;
    const shown = shownAll.clusters ? network.clusters : network.clusters.slice(0, FIRST_CLUSTERS);
    section.querySelector("ul").replaceChildren(...shown.map(clusterRow));
    const last = more("clusters", network.clusters.length, FIRST_CLUSTERS, drawClusters);
    section.querySelector(".more").replaceChildren(...(last ? [last] : []));
  };

  const tagChip = ([tag, count]) => amem.element("button", {
    type: "button", class: "chip", "aria-pressed": String(state.get().tags.has(tag)),
    on: { click: () => state.toggle("tags", tag) },
  }, [amem.element("span", { text: `#${tag}` }), amem.element("small", { text: count.toLocaleString("en") })]);

  const drawTags = () => {
    const section = amem.byId("tags");
    section.hidden = network.tags.length === 0;
    const { tags } = state.get();
    const first = network.tags.slice(0, FIRST_TAGS);
    // A tag that is chosen elsewhere stands here too, so that it can be taken back.
    const chosen = network.tags.slice(FIRST_TAGS).filter(([tag]) => tags.has(tag));
    const shown = shownAll.tags ? network.tags : [...first, ...chosen];
    section.querySelector(".chips").replaceChildren(...shown.map(tagChip));
    const last = more("tags", network.tags.length, FIRST_TAGS, drawTags);
    section.querySelector(".more").replaceChildren(...(last ? [last] : []));
  };

  const line = (colour, dashed) =>
    amem.element("span", { class: dashed ? "line dashed" : "line", style: { "--line": colour } });

  const check = ({ text, checked, count, mark, change }) => amem.element("label", { class: "row" }, [
    amem.element("input", { type: "checkbox", checked: checked || null, on: { change } }),
    mark,
    amem.element("span", { class: "row-name", text }),
    amem.element("span", { class: "count", text: count.toLocaleString("en") }),
  ]);

  const tally = (test) => network.links.filter(test).length;
  const makers = [["person", "Made by you"], ["machine", "Made by amem"]]
    .map(([by, text]) => ({ by, text, count: tally((link) => link.by === by) }));
  const relations = network.relations
    .map((name) => ({ name, count: tally((link) => link.relation === name) }));
  const aloneCount = network.notes.filter((note) => note.near.size === 0).length;

  const drawLinks = () => {
    const { hiddenMakers, hiddenRelations, orphans, suggested } = state.get();
    amem.byId("makers").replaceChildren(...makers.filter(({ count }) => count).map(
      ({ by, text, count }) => check({
        text, count, checked: !hiddenMakers.has(by), mark: line(look().ink, by === "machine"),
        change: () => state.toggle("hiddenMakers", by),
      })));
    amem.byId("relations").replaceChildren(...(relations.length < 2 ? [] : relations.map(
      ({ name, count }) => check({
        text: amem.relationName(name), count, checked: !hiddenRelations.has(name),
        mark: line(amem.relationColour(look(), name), false),
        change: () => state.toggle("hiddenRelations", name),
      }))));
    amem.byId("suggested").replaceChildren(...(network.suggested.length ? [check({
      text: "Suggested by amem", count: network.suggested.length, checked: suggested,
      mark: amem.element("span", { class: "line dotted", style: { "--line": look().ink } }),
      change: () => state.change({ suggested: !state.get().suggested }),
    })] : []));
    amem.byId("links").hidden = network.links.length + network.suggested.length === 0;
    const withheld = amem.linksOnDemand(network);
    amem.byId("on-demand").textContent = !withheld ? ""
      : `Point at a note to see its links${withheld === "between" ? " to other clusters" : ""}.`;
    amem.byId("alone").replaceChildren(...(aloneCount ? [check({
      text: "Notes without links", count: aloneCount, checked: orphans,
      mark: amem.element("span", { class: "dot", style: { "--dot": look().alone } }),
      change: () => state.change({ orphans: !state.get().orphans }),
    })] : []));
  };

  const drawCounts = () => {
    const { count, linkCount } = state.shown();
    const all = count === network.notes.length;
    const text = all ? amem.counted(count, "note")
      : `${count.toLocaleString("en")} of ${amem.counted(network.notes.length, "note")}`;
    amem.byId("counts").textContent = `${text} · ${amem.counted(linkCount, "link")}`;
    amem.byId("show-all").hidden = !state.isFiltered();
  };

  const draw = () => {
    // Buttons are made anew, so the one that had the focus gets it back.
    const focused = document.activeElement;
    const holder = focused && focused.closest("#filters section");
    const controls = () => [...holder.querySelectorAll("button, input")];
    const at = holder ? controls().indexOf(focused) : -1;
    drawClusters();
    drawTags();
    drawLinks();
    drawCounts();
    if (at >= 0) (controls()[at] || controls()[0])?.focus({ preventScroll: true });
  };
  amem.byId("show-all").addEventListener("click", () => {
    state.showAll();
    amem.byId("search").focus();
  });
  return { draw };
};
