"use strict";
// Puts the parts of the page together, and listens to the keyboard.

(() => {
  const network = amem.readNetwork(amem.byId("content").textContent);
  const state = amem.makeState(network);
  const find = amem.makeFinder(network);
  const canvas = amem.byId("canvas");
  const root = document.documentElement;

  const storage = {
    read: () => { try { return localStorage.getItem("amem-theme"); } catch { return null; } },
    write: (theme) => { try { localStorage.setItem("amem-theme", theme); } catch { /* kept nowhere */ } },
  };
  const darkScheme = matchMedia("(prefers-color-scheme: dark)");
  let chosenTheme = storage.read();
  const theme = () => (["light", "dark"].includes(chosenTheme) ? chosenTheme
    : darkScheme.matches ? "dark" : "light");
  const look = () => amem.palettes[theme()];
  const colourOf = (note) => amem.clusterColour(look(), note.cluster);

  let drawing = null;
  if (amem.hasWebGL()) {
    try {
      drawing = amem.makeDrawing({ network, state, container: canvas });
    } catch (error) {
      console.warn(error);
      canvas.replaceChildren();
    }
  }

  const show = (index, closest) => {
    const { notes } = state.shown();
    if (!notes[index]) state.showAll();
    const inPanel = amem.byId("panel").contains(document.activeElement);
    state.change({ selected: index });
    if (state.get().view === "graph" && !inPanel) canvas.focus({ preventScroll: true });
    if (drawing && state.get().view === "graph") drawing.reveal(index, closest ?? 0.7);
  };

  const parts = { network, state, find, look, colourOf, show, drawing: () => drawing };
  const filters = amem.makeFilters(parts);
  const panel = amem.makePanel(parts);
  const list = amem.makeList(parts);
  const time = amem.makeTime(parts);
  const search = amem.makeSearch(parts);

  const drawAll = () => {
    const { view } = state.get();
    document.body.dataset.view = view;
    amem.byId("view").setAttribute("aria-pressed", String(view === "list"));
    filters.draw();
    panel.draw();
    list.draw();
    time.draw();
    amem.byId("told").textContent = told();
    if (drawing) drawing.refresh();
  };

  const told = () => {
    const noDrawing = "This browser cannot draw with WebGL: here are the notes as a list.";
    if (!network.notes.length) return "There are no notes yet. amem add writes the first one.";
    if (!state.shown().count) return "No note has everything that is chosen in the filters.";
    return drawing ? "" : noDrawing;
  };

  const applyTheme = () => {
    root.dataset.theme = theme();
    amem.byId("theme").setAttribute("aria-pressed", String(theme() === "dark"));
    if (drawing) drawing.setPalette(theme());
    drawAll();
  };
  const toggleTheme = () => {
    chosenTheme = theme() === "dark" ? "light" : "dark";
    storage.write(chosenTheme);
    applyTheme();
  };
  const toggleView = () => {
    if (!drawing) return;
    state.change({ view: state.get().view === "list" ? "graph" : "list" });
  };
  const toggleFilters = () => {
    const open = document.body.classList.toggle("filters-open");
    amem.byId("filters-toggle").setAttribute("aria-expanded", String(open));
  };
  const back = () => {
    if (document.body.classList.contains("filters-open")) toggleFilters();
    else if (state.get().selected >= 0) {
      const inside = amem.byId("panel").contains(document.activeElement);
      state.change({ selected: -1 });
      if (inside) canvas.focus();
    } else if (state.isFiltered()) state.showAll();
  };

  const step = (dx, dy) => {
    const { selected } = state.get();
    const { notes } = state.shown();
    if (selected < 0 || !notes[selected]) {
      const first = network.notes.filter(({ index }) => notes[index])
        .sort((a, b) => b.near.size - a.near.size)[0];
      if (first) show(first.index, 1);
      return;
    }
    const next = drawing.neighbourTowards(selected, dx, dy);
    if (next >= 0) show(next, 1);
    else amem.announce("No linked note lies that way");
  };
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !drawing) return;
    const arrow = arrows[event.key];
    if (arrow) {
      event.preventDefault();
      step(...arrow);
    } else if (event.key === "Enter" && state.get().selected >= 0) {
      event.preventDefault();
      amem.byId("panel-title").focus();
    }
  });

  const keys = {
    "/": () => search.focus(),
    t: toggleTheme,
    p: time.toggle,
    l: toggleView,
    "?": () => amem.byId("help").showModal(),
    "+": () => drawing && drawing.zoom(0.7),
    "=": () => drawing && drawing.zoom(0.7),
    "-": () => drawing && drawing.zoom(1 / 0.7),
    0: () => drawing && drawing.fit(),
    Escape: back,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const typing = event.target.matches("input[type=search]");
    if (typing && event.key !== "Escape") return;
    const act = keys[event.key];
    if (!act) return;
    if (event.key !== "Escape") event.preventDefault();
    act();
  });

  const press = (id, act) => amem.byId(id).addEventListener("click", act);
  press("skip", (event) => {
    // The address is for what the reader chose.
    event.preventDefault();
    const first = state.get().view === "list" ? amem.byId("list").querySelector("tbody button") : canvas;
    (first || canvas).focus();
  });
  press("theme", toggleTheme);
  press("view", toggleView);
  press("filters-toggle", toggleFilters);
  press("help-open", () => amem.byId("help").showModal());
  press("help-close", () => amem.byId("help").close());
  press("zoom-in", () => drawing && drawing.zoom(0.7));
  press("zoom-out", () => drawing && drawing.zoom(1 / 0.7));
  press("fit", () => drawing && drawing.fit());
  darkScheme.addEventListener("change", applyTheme);
  addEventListener("beforeprint", () => list.drawForPaper());
  addEventListener("afterprint", () => list.draw());
  addEventListener("hashchange", () => {
    state.read();
    const { selected, view } = state.get();
    if (drawing && selected >= 0 && view === "graph") drawing.reveal(selected);
  });

  amem.byId("vault").textContent = network.vault;
  state.read();
  if (network.focus >= 0 && !location.hash) state.get().selected = network.focus;
  if (!drawing) {
    document.body.classList.add("no-drawing");
    state.get().view = "list";
  }
  state.listen(drawAll);
  applyTheme();
  const settled = () => {
    document.body.dataset.settled = "yes";
    if (drawing) drawing.spareLinks();
    const { selected } = state.get();
    if (drawing && selected >= 0) drawing.reveal(selected, 0.7);
  };
  if (drawing) amem.arrange(network, drawing.place, settled);
  else settled();
  document.body.dataset.ready = "yes";
  // For whoever looks at the page from its console, and for its tests.
  amem.shown = { network, state, drawing };
})();
