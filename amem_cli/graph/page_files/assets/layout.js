"use strict";
// Places the notes: clusters first, each by its neighbours, then the notes within them. The same
// notes come to the same places: nothing is random and the number of steps is fixed.

amem.sizeOf = (network, width = Infinity) => {
  const count = network.notes.length;
  const fitting = count <= 40 ? 1.5 : count <= 200 ? 1.15 : count <= 1000 ? 0.8 : count <= 2500 ? 0.5 : 0.36;
  // A narrow window shows the same notes nearer to one another.
  const scale = fitting * (count <= 40 ? 1 : Math.min(1, Math.max(0.5, width / 720)));
  return (note) => scale * (2.6 + 1.7 * Math.sqrt(Math.min(note.near.size, 60)));
};

const GAP = 26;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
const SLICE_MS = 14;
const STEPS_AT_ONCE_MS = 180;
const REDRAW_MS = 160;

const spiral = (index, gap) => ({
  x: gap * Math.sqrt(index + 0.5) * Math.cos(index * GOLDEN_ANGLE),
  y: gap * Math.sqrt(index + 0.5) * Math.sin(index * GOLDEN_ANGLE),
});

// Where each cluster lies: a small drawing of its own, of discs with lines between them.
const clusterCentres = (network) => {
  const discs = network.clusters.map(({ notes }, index) => ({
    radius: GAP * 0.98 * Math.sqrt(notes.length) + GAP * 0.6, ...spiral(index, 6 * GAP),
  }));
  const weights = new Map();
  for (const { source, target } of network.pairs) {
    const [a, b] = [network.notes[source].cluster, network.notes[target].cluster];
    if (a < 0 || b < 0 || a === b) continue;
    const key = `${Math.min(a, b)}-${Math.max(a, b)}`;
    weights.set(key, (weights.get(key) || 0) + 1);
  }
  const lines = [...weights].map(([key, weight]) => {
    const [source, target] = key.split("-").map(Number);
    return { source, target, weight };
  });
  const apart = ({ source, target }) => source.radius + target.radius + GAP;
  const pull = ({ weight }) => Math.min(0.3, 0.02 * weight);
  const simulation = d3.forceSimulation(discs).stop()
    .force("apart", d3.forceCollide((disc) => disc.radius).iterations(3))
    .force("lines", d3.forceLink(lines).distance(apart).strength(pull))
    .force("x", d3.forceX().strength(0.035))
    .force("y", d3.forceY().strength(0.11));
  for (let step = 0; step < 300; step += 1) simulation.tick();
  return discs;
};

const noteSimulation = (network, nodes, size) => {
  const centres = clusterCentres(network);
  const centreOf = (node) => centres[node.note.cluster] || { x: 0, y: 0 };
  const members = new Map();
  for (const node of nodes) {
    const centre = centreOf(node);
    const at = members.get(node.note.cluster) || 0;
    members.set(node.note.cluster, at + 1);
    const { x, y } = spiral(at, GAP * 0.8);
    node.x = centre.x + x;
    node.y = centre.y + y;
  }
  const places = new Map(nodes.map((node, at) => [node.note.index, at]));
  const lines = network.pairs.map(({ source, target }) => ({
    source: places.get(source), target: places.get(target),
    inside: network.notes[source].cluster === network.notes[target].cluster,
    degree: Math.min(network.notes[source].near.size, network.notes[target].near.size),
  }));
  const home = nodes.length > 60 ? 0.1 : 0.06;
  return d3.forceSimulation(nodes).stop()
    .alphaDecay(1 - Math.pow(0.001, 1 / stepCount(nodes.length)))
    .force("lines", d3.forceLink(lines)
      .distance(({ inside }) => (inside ? GAP * 1.25 : GAP * 3))
      .strength(({ inside, degree }) => (inside ? 0.9 : 0.12) / Math.max(1, degree)))
    .force("apart", d3.forceManyBody().strength(-6.5 * GAP).theta(1)
      .distanceMax(Math.max(8, Math.sqrt(nodes.length)) * GAP))
    .force("overlap", d3.forceCollide((node) => size(node.note) + 4))
    .force("x", d3.forceX((node) => centreOf(node).x).strength(home))
    .force("y", d3.forceY((node) => centreOf(node).y).strength(home * 1.25));
};

const stepCount = (count) => (count > 2000 ? 110 : count > 500 ? 180 : 300);

// Notes without links lie in a ring around the others, evenly spread.
const placeAlone = (alone, linked) => {
  const half = (axis) => linked.reduce((most, node) => Math.max(most, Math.abs(node[axis])), 0);
  const count = alone.length;
  const [wide, high] = [half("x") + 1.1 * GAP, half("y") + 1.1 * GAP];
  const inner = linked.length ? Math.sqrt(wide * high) : 0;
  const gap = GAP * 1.15;
  alone.forEach((node, at) => {
    const radius = Math.sqrt(inner ** 2 + (at + 0.5) * gap ** 2);
    const angle = count < 40 ? (2 * Math.PI * at) / count : at * GOLDEN_ANGLE;
    node.x = radius * Math.sqrt(wide / high) * Math.cos(angle);
    node.y = radius * Math.sqrt(high / wide) * Math.sin(angle);
  });
};

// Notes that the given map does not have.
const placeMissing = (nodes) => {
  const placed = nodes.filter(({ note }) => Number.isFinite(note.x) && Number.isFinite(note.y));
  const missing = nodes.filter((node) => !placed.includes(node));
  const spread = (axis) => {
    const values = placed.map(({ note }) => note[axis]);
    const [least, most] = values.reduce(
      ([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    return { middle: (least + most) / 2 || 0, width: most - least || 1 };
  };
  const [across, along] = [spread("x"), spread("y")];
  const scale = (GAP * 1.6 * Math.sqrt(nodes.length)) / Math.max(across.width, along.width);
  for (const node of placed) {
    node.x = (node.note.x - across.middle) * scale;
    // On a map y goes up, on the screen down.
    node.y = (along.middle - node.note.y) * scale;
  }
  placeAlone(missing, placed);
};

// Moves the notes in slices between which the page answers; `draw` shows where they are.
amem.arrange = (network, draw, done) => {
  const nodes = network.notes.map((note) => ({ note, x: 0, y: 0 }));
  const finish = () => {
    draw(nodes);
    done();
  };
  if (network.placed) {
    placeMissing(nodes);
    return finish();
  }
  const linked = nodes.filter(({ note }) => note.near.size > 0);
  const alone = nodes.filter(({ note }) => note.near.size === 0);
  const simulation = noteSimulation(network, linked, amem.sizeOf(network));
  let left = linked.length ? stepCount(linked.length) : 0;
  let drawn = performance.now();
  const run = (budget) => {
    const until = performance.now() + budget;
    while (left > 0 && performance.now() < until) {
      simulation.tick();
      left -= 1;
    }
  };
  const slice = () => {
    run(SLICE_MS);
    if (left === 0) {
      placeAlone(alone, linked);
      return finish();
    }
    if (!amem.prefersStill() && performance.now() - drawn > REDRAW_MS) {
      placeAlone(alone, linked);
      draw(nodes);
      drawn = performance.now();
    }
    return setTimeout(slice, 0);
  };
  run(STEPS_AT_ONCE_MS);
  if (left === 0) {
    placeAlone(alone, linked);
    return finish();
  }
  placeAlone(alone, linked);
  draw(nodes);
  return setTimeout(slice, 0);
};
