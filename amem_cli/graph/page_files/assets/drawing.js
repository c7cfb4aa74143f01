"use strict";
// Draws the network with sigma.js: colours by cluster, the links of a note stronger if it is looked at.

const LARGE = 1500;
// A drawing that takes longer than this cannot follow the mouse.
const SLOW_FRAME_MS = 25;
// More links on a map, where they go from one side to the other, would hide the notes.
const MOST_ON_A_MAP = 150;
const CROWD = 800;
// Of a line with the paper; whoever draws lines this thin needs as much as for large letters.
const LEAST_CONTRAST = { machine: 3.2, person: 4.5 };
// Width of a drawing in pixels.
const NARROW = 600;
// Space for labels around the notes that are brought into view, in pixels.
const MARGIN = { x: 80, y: 44 };

// Which links show only with the note in view: all of a map's, those between a large network's clusters.
amem.linksOnDemand = ({ placed, notes, pairs }) =>
  placed ? (pairs.length > MOST_ON_A_MAP ? "all" : "") : notes.length > LARGE ? "between" : "";

amem.hasWebGL = () => {
  try {
    return Boolean(document.createElement("canvas").getContext("webgl2"));
  } catch {
    return false;
  }
};

amem.makeDrawing = ({ network, state, container }) => {
  const size = amem.sizeOf(network, container.clientWidth || Infinity);
  const graph = new graphology.Graph({ type: "undirected", multi: false });
  for (const note of network.notes) {
    graph.addNode(String(note.index), { x: 0, y: 0, size: size(note) });
  }
  for (const pair of network.pairs) {
    graph.addEdgeWithKey(String(pair.index), String(pair.source), String(pair.target), { pair });
  }
  let palette = amem.palettes.light;
  let hovered = -1;
  let lit = null;

  const focus = () => (hovered >= 0 ? hovered : state.get().selected);

  // What a line loses of its width on a screen of so many points: sigma fades its outermost ones.
  const softEdge = () => 1 / devicePixelRatio;

  const edgeLook = (pair) => {
    const { source, target, links } = pair;
    const [from, to] = [network.notes[source], network.notes[target]];
    const own = links.some(({ by }) => by === "person");
    const inside = from.cluster === to.cluster && from.cluster >= 0;
    const colour = inside ? amem.clusterColour(palette, from.cluster) : palette.edge;
    const color = amem.legible(palette, colour, LEAST_CONTRAST[own ? "person" : "machine"]);
    const wide = own && network.pairs.length <= CROWD ? 1.7 : 1;
    return { color, size: wide + softEdge(), zIndex: own ? 1 : 0 };
  };

  const withheld = amem.linksOnDemand(network);
  const onDemand = ({ source, target }) => withheld === "all" ||
    (withheld === "between" && network.notes[source].cluster !== network.notes[target].cluster);

  const nodeReducer = (key, data) => {
    const note = network.notes[Number(key)];
    if (!state.shown().notes[note.index]) return { ...data, hidden: true };
    const colour = amem.clusterColour(palette, note.cluster);
    const isLit = !lit || lit.has(note.index);
    return {
      ...data, hidden: false, zIndex: isLit ? 1 : 0, borderColor: palette.paper,
      color: isLit ? colour : amem.mix(colour, palette.paper, 0.16),
    };
  };

  const edgeReducer = (key, { pair }) => {
    if (!state.shown().pairs[pair.index]) return { hidden: true };
    const isLit = Boolean(lit) && lit.has(pair.source) && lit.has(pair.target);
    if (!isLit && onDemand(pair)) return { hidden: true };
    const look = edgeLook(pair);
    if (!lit) return look;
    if (isLit) return { ...look, zIndex: 2 };
    return { ...look, color: amem.mix(palette.edge, palette.paper, 0.1), zIndex: 0 };
  };

  const sigma = new Sigma(graph, container, {
    renderLabels: false, renderEdgeLabels: false, zIndex: true, nodeReducer, edgeReducer,
    minEdgeThickness: 1 + softEdge(), antiAliasingFeather: 0.5, stagePadding: 60, minCameraRatio: 0.03, maxCameraRatio: 3,
    defaultDrawNodeHover: () => {}, defaultNodeType: "disc", enableEdgeEvents: false,
    zoomToSizeRatioFunction: (ratio) => Math.pow(ratio, 0.62), allowInvalidContainer: true,
    // Points and hairlines, where there are so many that nothing finer would be seen.
    edgeProgramClasses: network.notes.length > LARGE ? { line: Sigma.rendering.EdgeLineProgram } : {},
    nodeProgramClasses: {
      disc: network.notes.length > LARGE ? Sigma.rendering.NodePointProgram : Sigma.rendering.createNodeBorderProgram({
        borders: [
          { size: { value: 1.1, mode: "pixels" }, color: { attribute: "borderColor" } },
          { size: { fill: true }, color: { attribute: "color" } },
        ],
      }),
    },
  });
  const overlay = amem.makeOverlay({ network, sigma, state, focus, look: () => palette });
  sigma.on("afterRender", () => overlay.draw(lit));

  // The time of one drawing, with what the graphics card, or who stands in for it, does later.
  const timeOfFrame = () => {
    const pen = sigma.getCanvases().edges.getContext("webgl2");
    const waitForIt = () => pen.readPixels(0, 0, 1, 1, pen.RGBA, pen.UNSIGNED_BYTE, new Uint8Array(4));
    waitForIt();
    const begun = performance.now();
    sigma.render();
    waitForIt();
    return performance.now() - begun;
  };
  // Where that is long the links are left out while the drawing moves.
  const spareLinks = () => {
    if (network.notes.length <= LARGE) return;
    const isSlow = Math.min(timeOfFrame(), timeOfFrame()) > SLOW_FRAME_MS;
    sigma.setSetting("hideEdgesOnMove", isSlow);
  };

  const relight = () => {
    const { selected, depth } = state.get();
    const index = network.notes.length > LARGE ? selected : focus();
    const { pairs, notes } = state.shown();
    const linked = (pair) => pairs[pair.index];
    lit = index >= 0 && notes[index]
      ? new Set(amem.within(network, index, index === selected ? depth : 1, linked).keys()) : null;
  };
  const refresh = () => {
    relight();
    sigma.refresh({ skipIndexation: true });
  };

  const hover = (index) => {
    hovered = index;
    container.style.cursor = index >= 0 ? "pointer" : "";
    if (network.notes.length > LARGE) sigma.scheduleRender();
    else refresh();
  };
  sigma.on("enterNode", ({ node }) => hover(Number(node)));
  sigma.on("leaveNode", () => hover(-1));
  sigma.on("clickNode", ({ node }) => {
    state.change({ selected: Number(node) });
    // The sheet leaves a small window little room for the whole.
    reveal(Number(node), container.clientWidth < NARROW ? 0.6 : Infinity);
  });
  sigma.on("clickStage", () => state.change({ selected: -1 }));

  new ResizeObserver(() => sigma.scheduleRender()).observe(container);

  const duration = () => (amem.prefersStill() ? 0 : 380);
  const move = (target) => {
    // At rest it is drawn once more, with the links.
    if (duration()) sigma.getCamera().animate(target, { duration: duration() }, () => sigma.scheduleRender());
    else sigma.getCamera().setState(target);
  };

  // Brings a note with its linked notes into view, no farther away than `closest` if they fit then.
  const reveal = (index, closest = Infinity) => {
    const { width, height } = sigma.getDimensions();
    const camera = sigma.getCamera();
    const { notes, pairs } = state.shown();
    const near = amem.within(network, index, state.get().depth, (pair) => pairs[pair.index]);
    const places = [...near.keys()].filter((each) => notes[each] || each === index)
      .map((each) => sigma.framedGraphToViewport(sigma.getNodeDisplayData(String(each))));
    const extent = (axis) => places.reduce(
      ([least, most], at) => [Math.min(least, at[axis]), Math.max(most, at[axis])], [Infinity, -Infinity]);
    const [[left, right], [top, bottom]] = [extent("x"), extent("y")];
    const room = { x: Math.max(1, width - 2 * MARGIN.x), y: Math.max(1, height - 2 * MARGIN.y) };
    const needed = camera.ratio * Math.max((right - left) / room.x, (bottom - top) / room.y);
    const wanted = Math.min(camera.ratio, network.notes.length > 40 ? closest : 1);
    const ratio = camera.getBoundedRatio(Math.max(wanted, needed));
    const inside = left > 0 && right < width && top > 0 && bottom < height;
    if (inside && ratio === camera.ratio) return;
    const middle = sigma.viewportToFramedGraph({ x: (left + right) / 2, y: (top + bottom) / 2 });
    const cameraState = { ...camera.getState(), ratio };
    const now = sigma.viewportToFramedGraph({ x: width / 2, y: height / 2 }, { cameraState });
    move({ x: camera.x + middle.x - now.x, y: camera.y + middle.y - now.y, ratio });
  };

  // The linked note that lies most nearly in a direction of the screen.
  const neighbourTowards = (index, dx, dy) => {
    const { notes, pairs } = state.shown();
    const placeOf = (each) =>
      sigma.framedGraphToViewport(sigma.getNodeDisplayData(String(each)));
    const from = placeOf(index);
    let best = { index: -1, cost: Infinity };
    for (const [other, pair] of network.notes[index].near) {
      if (!notes[other] || !pairs[pair.index]) continue;
      const to = placeOf(other);
      const along = (to.x - from.x) * dx + (to.y - from.y) * dy;
      const across = Math.abs((to.x - from.x) * dy) + Math.abs((to.y - from.y) * dx);
      const cost = along > 0 ? along + 2 * across : Infinity;
      if (cost < best.cost) best = { index: other, cost };
    }
    return best.index;
  };

  return {
    sigma,
    place: (nodes) => {
      graph.updateEachNodeAttributes((key, data) => {
        const node = nodes[Number(key)];
        return { ...data, x: node.x, y: -node.y };
      }, { attributes: ["x", "y"] });
      overlay.forget();
      // Whoever looks for a note from here on finds it where it is now.
      sigma.refresh();
    },
    refresh,
    setPalette: (name) => {
      palette = amem.palettes[name];
      refresh();
    },
    reveal,
    spareLinks,
    neighbourTowards,
    fit: () => move({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }),
    zoom: (factor) => move({ ratio: sigma.getCamera().getBoundedRatio(sigma.getCamera().ratio * factor) }),
  };
};
