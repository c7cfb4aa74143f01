"use strict";
// What the reader chose; kept in the address, so that a page can be bookmarked as it is.

amem.makeState = (network) => {
  const listeners = [];
  const state = {
    selected: -1, depth: 1, clusters: new Set(), tags: new Set(),
    hiddenRelations: new Set(), hiddenMakers: new Set(), orphans: true, suggested: false, view: "graph", query: "",
    // The number of the last day that is shown; all are shown if it is negative.
    until: -1,
  };
  const paths = new Map(network.notes.map((note) => [note.path, note.index]));

  const visible = () => {
    const { clusters, tags, orphans, until } = state;
    const begun = ({ day }) => until < 0 || day <= until;
    const notes = network.notes.map((note) => begun(note) &&
      (!clusters.size || clusters.has(note.cluster)) &&
      (!tags.size || note.tags.some((tag) => tags.has(tag))) &&
      (orphans || note.near.size > 0));
    const linkShown = (link) => begun(link) &&
      !state.hiddenMakers.has(link.by) && !state.hiddenRelations.has(link.relation);
    const pairs = network.pairs.map((pair) =>
      notes[pair.source] && notes[pair.target] && pair.links.some(linkShown));
    // Like amem stats: a link in the text and the same in the properties are one.
    const linkCount = new Set(network.links.filter((link) =>
      notes[link.source] && notes[link.target] && linkShown(link))
      .map(({ source, target }) => `${source} ${target}`)).size;
    const suggested = network.suggested.filter((link) => state.suggested && linkShown(link) &&
      notes[link.source] && notes[link.target]);
    return { notes, pairs, suggested, linkShown, linkCount, count: notes.filter(Boolean).length };
  };
  let shown = visible();

  const write = () => {
    const parts = new URLSearchParams();
    if (state.selected >= 0) parts.set("note", network.notes[state.selected].path);
    if (state.depth > 1) parts.set("depth", state.depth);
    for (const index of state.clusters) parts.append("cluster", network.clusters[index].name);
    for (const tag of state.tags) parts.append("tag", tag);
    for (const relation of state.hiddenRelations) parts.append("without", relation);
    for (const by of state.hiddenMakers) parts.append("not-by", by);
    if (!state.orphans) parts.set("orphans", "no");
    if (state.suggested) parts.set("suggested", "yes");
    if (state.until >= 0) parts.set("until", network.days[state.until]);
    if (state.view !== "graph") parts.set("view", state.view);
    const hash = parts.toString();
    if (hash === location.hash.slice(1)) return;
    const address = hash ? `#${hash}` : location.pathname + location.search;
    try {
      history.replaceState(null, "", address);
    } catch {
      // Some browsers keep a page of the disk from changing its address.
    }
  };

  const read = () => {
    const parts = new URLSearchParams(location.hash.slice(1));
    const known = (name, values) => parts.getAll(name).filter((each) => values.includes(each));
    const tags = new Set(network.tags.map(([tag]) => tag));
    const selected = paths.get(parts.get("note"));
    state.selected = selected === undefined ? -1 : selected;
    state.depth = Math.min(3, Math.max(1, Number(parts.get("depth")) || 1));
    const names = parts.getAll("cluster");
    state.clusters = new Set(
      network.clusters.filter(({ name }) => names.includes(name)).map(({ index }) => index));
    state.tags = new Set(parts.getAll("tag").filter((tag) => tags.has(tag)));
    state.hiddenRelations = new Set(known("without", network.relations));
    state.hiddenMakers = new Set(known("not-by", ["person", "machine"]));
    state.orphans = parts.get("orphans") !== "no";
    state.suggested = parts.get("suggested") === "yes";
    state.until = network.days.indexOf(parts.get("until"));
    state.view = parts.get("view") === "list" ? "list" : "graph";
  };

  const change = (changes) => {
    Object.assign(state, changes);
    shown = visible();
    write();
    for (const listener of listeners) listener(changes);
  };

  return {
    get: () => state,
    shown: () => shown,
    change,
    toggle: (name, value) => {
      const values = new Set(state[name]);
      if (!values.delete(value)) values.add(value);
      change({ [name]: values });
    },
    isFiltered: () => state.clusters.size + state.tags.size + state.hiddenRelations.size +
      state.hiddenMakers.size > 0 || !state.orphans || state.until >= 0,
    showAll: () => change({ clusters: new Set(), tags: new Set(), hiddenRelations: new Set(),
      hiddenMakers: new Set(), orphans: true, until: -1 }),
    read: () => {
      read();
      change({});
    },
    listen: (listener) => listeners.push(listener),
  };
};
