"use strict";
// Finds notes by title, alias, tag and path while the reader types.

const MOST_FOUND = 12;

amem.makeFinder = (network) => {
  const keys = network.notes.map((note) => ({
    note,
    title: amem.folded(note.title),
    aliases: note.aliases.map(amem.folded),
    tags: note.tags.map((tag) => amem.folded(`#${tag}`)),
    path: amem.folded(note.path),
  }));
  const rank = (key, word) => {
    if (key.title.startsWith(word)) return 0;
    if (key.title.includes(` ${word}`)) return 1;
    if (key.title.includes(word)) return 2;
    if (key.aliases.some((alias) => alias.includes(word))) return 3;
    if (key.tags.some((tag) => tag.includes(word))) return 4;
    return key.path.includes(word) ? 5 : Infinity;
  };
  const order = (a, b) => a.rank - b.rank || b.note.near.size - a.note.near.size ||
    a.note.index - b.note.index;
  return (query) => {
    const words = amem.folded(query).split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    return keys
      .map((key) => ({ note: key.note, rank: Math.max(...words.map((word) => rank(key, word))) }))
      .filter((found) => found.rank < Infinity)
      .sort(order)
      .map(({ note }) => note);
  };
};

amem.makeSearch = ({ network, state, find, colourOf, show }) => {
  const box = amem.byId("search");
  const results = amem.byId("results");
  let found = [];
  let active = -1;

  const close = () => {
    results.hidden = true;
    results.replaceChildren();
    active = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  };

  const mark = (at) => {
    active = at;
    [...results.querySelectorAll("[role=option]")].forEach((option, index) => {
      option.setAttribute("aria-selected", String(index === at));
      if (index !== at) return;
      box.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    });
  };

  const choose = (note) => {
    box.value = "";
    state.change({ query: "" });
    close();
    show(note.index);
  };

  const hint = (note, query) => {
    if (note.isNamesake) return note.path;
    const folded = amem.folded(query.trim());
    if (amem.folded(note.title).includes(folded)) return note.tags.slice(0, 3).map((tag) => `#${tag}`).join("  ");
    const alias = note.aliases.find((each) => amem.folded(each).includes(folded));
    return alias ? `also “${alias}”` : note.tags.slice(0, 3).map((tag) => `#${tag}`).join("  ") || note.path;
  };

  const option = (note, at, query) => amem.element("li", {
    id: `result-${at}`, role: "option", "aria-selected": "false",
    on: { mousedown: (event) => { event.preventDefault(); choose(note); } },
  }, [
    amem.element("span", { class: "dot", style: { "--dot": colourOf(note) } }),
    amem.element("span", { class: "result-title", text: note.title }),
    amem.element("span", { class: "result-hint", text: hint(note, query) }),
  ]);

  const open = () => {
    const query = box.value;
    state.change({ query });
    found = find(query);
    if (!query.trim()) return close();
    const shown = found.slice(0, MOST_FOUND);
    const rest = found.length - shown.length;
    const told = !found.length ? "No note matches" : rest ? `and ${rest.toLocaleString("en")} more` : "";
    results.replaceChildren(
      ...shown.map((note, at) => option(note, at, query)),
      ...(told ? [amem.element("li", { class: "told", role: "presentation", text: told })] : []));
    results.hidden = false;
    box.setAttribute("aria-expanded", "true");
    amem.announce(amem.counted(found.length, "note matches", "notes match"));
    found = shown;
    return mark(shown.length ? 0 : -1);
  };

  box.addEventListener("input", open);
  box.addEventListener("focus", () => { if (box.value) open(); });
  box.addEventListener("blur", close);
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length && !results.hidden) {
      event.preventDefault();
      mark((active + step + found.length) % found.length);
    } else if (event.key === "Enter" && found[active] && !results.hidden) {
      event.preventDefault();
      choose(found[active]);
    } else if (event.key === "Escape" && box.value) {
      event.stopPropagation();
      box.value = "";
      state.change({ query: "" });
      close();
    }
  });
  return { focus: () => { box.focus(); box.select(); } };
};
