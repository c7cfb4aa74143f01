"use strict";
// The notes and links of the page, with what is reckoned from them once.
const amem = {};

amem.readNetwork = (text) => {
  const raw = JSON.parse(text);
  const notes = raw.notes.map((row, index) => {
    const [path, title, created, context, tags, keywords, aliases, cluster, isPrivate] = row;
    const [beginning, x, y] = row.slice(9);
    return {
      index, path, title: title.trim() ? title : path, created, context, tags, keywords, aliases, cluster,
      isPrivate: Boolean(isPrivate), beginning, x, y, day: raw.note_days[index], links: [], near: new Map(),
    };
  });
  const links = raw.links.map(([source, target, property, machine, relation, strength, reason], index) => ({
    source, target, property: Boolean(property), by: machine ? "machine" : "person",
    relation: raw.relations[relation], strength, reason, day: raw.link_days[index],
  }));
  // What amem suggests is no link: it counts nowhere, and is drawn only if the reader asks for it.
  const suggested = raw.suggested.map(([source, target, relation, strength, reason]) => ({
    source, target, by: "suggestion", suggested: true, relation: raw.relations[relation], strength, reason,
    day: Math.max(raw.note_days[source], raw.note_days[target]),
  }));
  const pairs = amem.pairsOf(links);
  for (const link of links) {
    notes[link.source].links.push(link);
    notes[link.target].links.push(link);
  }
  for (const pair of pairs) {
    notes[pair.source].near.set(pair.target, pair);
    notes[pair.target].near.set(pair.source, pair);
  }
  const clusters = raw.clusters.map((name, index) => ({
    index, name, notes: notes.filter((note) => note.cluster === index),
  }));
  const titled = new Map();
  for (const { title } of notes) titled.set(title, (titled.get(title) || 0) + 1);
  for (const note of notes) note.isNamesake = titled.get(note.title) > 1;
  return {
    vault: raw.vault, placed: raw.placed, focus: raw.focus, relations: raw.relations, days: raw.days,
    notes, links, suggested, pairs, clusters, tags: amem.tagCounts(notes),
  };
};

// Links between the same two notes are one line of the drawing.
amem.pairsOf = (links) => {
  const pairs = new Map();
  for (const link of links) {
    const source = Math.min(link.source, link.target);
    const target = Math.max(link.source, link.target);
    const key = `${source}-${target}`;
    if (!pairs.has(key)) pairs.set(key, { index: pairs.size, source, target, links: [] });
    pairs.get(key).links.push(link);
  }
  return [...pairs.values()];
};

amem.tagCounts = (notes) => {
  const counts = new Map();
  for (const note of notes) {
    for (const tag of new Set(note.tags)) counts.set(tag, (counts.get(tag) || 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
};

amem.otherEnd = (link, index) => (link.source === index ? link.target : link.source);

amem.relationName = (relation) => (relation ? relation.replaceAll("_", " ") : "plain link");

amem.makerName = (by) => (by === "machine" ? "amem" : "you");

// Ways to write a text that a reader would hold for the same.
amem.folded = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

// Notes within so many steps of one, with their distance.
amem.within = (network, start, depth, linked) => {
  const distance = new Map([[start, 0]]);
  const queue = [start];
  for (const index of queue) {
    if (distance.get(index) >= depth) continue;
    for (const [other, pair] of network.notes[index].near) {
      if (distance.has(other) || !linked(pair)) continue;
      distance.set(other, distance.get(index) + 1);
      queue.push(other);
    }
  }
  return distance;
};

// The address by which Obsidian opens a note; nothing of a note can change its scheme.
amem.obsidianAddress = (vault, path) => {
  const encoded = (text) => {
    try {
      return encodeURIComponent(text);
    } catch {
      return "";
    }
  };
  return `obsidian://open?vault=${encoded(vault)}&file=${encoded(path)}`;
};
