"use strict";
// Draws the network with sigma.js: colours by cluster, links faint until a note is looked at.

const LARGE = 1500;
// A drawing that takes longer than this cannot follow the mouse.
const SLOW_FRAME_MS = 25;

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

  const edgeLook = (pair) => {
    const { source, target, links } = pair;
    const [from, to] = [network.notes[source], network.notes[target]];
    const own = links.some(({ by }) => by === "person");
    const inside = from.cluster === to.cluster && from.cluster >= 0;
    const colour = inside ? amem.clusterColour(palette, from.cluster) : palette.edge;
    const crowd = network.pairs.length > 4000 ? 0.42 : network.pairs.length > 800 ? 0.7 : 1;
    const strong = (own ? 0.75 : 0.48) * crowd * (inside ? 1 : 0.62);
    const wide = (own ? 1.7 : 1) * (crowd < 1 ? 0.62 : 1);
    return { color: amem.mix(colour, palette.paper, strong), size: wide, zIndex: own ? 1 : 0 };
  };

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
    const look = edgeLook(pair);
    if (!lit) return look;
    if (lit.has(pair.source) && lit.has(pair.target)) return { ...look, zIndex: 2 };
    return { ...look, color: amem.mix(palette.edge, palette.paper, 0.1), zIndex: 0 };
  };

  const sigma = new Sigma(graph, container, {
    renderLabels: false, renderEdgeLabels: false, zIndex: true, nodeReducer, edgeReducer,
    minEdgeThickness: 0.4, stagePadding: 60, minCameraRatio: 0.03, maxCameraRatio: 3,
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
    uncover(Number(node));
  });
  sigma.on("clickStage", () => state.change({ selected: -1 }));

  const duration = () => (amem.prefersStill() ? 0 : 380);
  const move = (target) => {
    // At rest it is drawn once more, with the links.
    if (duration()) sigma.getCamera().animate(target, { duration: duration() }, () => sigma.scheduleRender());
    else sigma.getCamera().setState(target);
  };

  // The part of the drawing that no panel covers.
  const openArea = () => {
    const area = container.getBoundingClientRect();
    const panel = amem.byId("panel");
    const cover = panel.hidden ? null : panel.getBoundingClientRect();
    if (!cover) return { x: area.width / 2, y: area.height / 2 };
    return cover.width < area.width * 0.7
      ? { x: (area.width - cover.width) / 2, y: area.height / 2 }
      : { x: area.width / 2, y: Math.max(60, (cover.top - area.top) / 2) };
  };

  const centre = (index, closest = 0.7) => {
    const camera = sigma.getCamera();
    const ratio = Math.min(camera.ratio, network.notes.length > 40 ? closest : 1);
    const cameraState = { ...camera.getState(), ratio };
    const at = sigma.viewportToFramedGraph(openArea(), { cameraState });
    const node = sigma.getNodeDisplayData(String(index));
    move({ x: camera.x + node.x - at.x, y: camera.y + node.y - at.y, ratio });
  };

  // Brings a note into view that the panel, opened for it, lies over.
  const uncover = (index) => {
    const area = container.getBoundingClientRect();
    const cover = amem.byId("panel").getBoundingClientRect();
    const { x, y } = sigma.framedGraphToViewport(sigma.getNodeDisplayData(String(index)));
    const across = area.left + x > cover.left - 20 && area.left + x < cover.right + 20;
    const along = area.top + y > cover.top - 20 && area.top + y < cover.bottom + 20;
    if (across && along) centre(index, sigma.getCamera().ratio);
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
      // Whoever looks for a note from here on finds it where it is now.
      sigma.refresh();
    },
    refresh,
    setPalette: (name) => {
      palette = amem.palettes[name];
      refresh();
    },
    centre,
    uncover,
    spareLinks,
    neighbourTowards,
    fit: () => move({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }),
    zoom: (factor) => move({ ratio: sigma.getCamera().getBoundedRatio(sigma.getCamera().ratio * factor) }),
  };
};
