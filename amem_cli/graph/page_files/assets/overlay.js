"use strict";
// What lies over the drawing in two dimensions: the links of the note in view, and the labels.

const LABEL_FONT = '"Inter", "Segoe UI", -apple-system, "Helvetica Neue", "Liberation Sans", Arial, sans-serif';
const LABEL_ROOM = 21000;
const LONGEST_LABEL = 34;
const MOST_DOTS = 400;
const MOST_STRANDS = 300;

amem.makeOverlay = ({ network, sigma, state, look, focus }) => {
  const strands = sigma.createCanvasContext("strands", { afterLayer: "edges" });
  const names = sigma.createCanvasContext("names", { beforeLayer: "mouse" });
  const contextOf = (id) => sigma.getCanvases()[id].getContext("2d");
  const widths = new Map();
  void strands;
  void names;

  const fresh = (id) => {
    const context = contextOf(id);
    const { width, height } = sigma.getDimensions();
    context.clearRect(0, 0, width, height);
    return context;
  };

  const placeOf = (index) => {
    const data = sigma.getNodeDisplayData(String(index));
    const { x, y } = sigma.framedGraphToViewport(data);
    return { x, y, size: sigma.scaleSize(data.size), hidden: data.hidden };
  };

  const drawStrand = (context, from, to, link) => {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const length = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / length, dy / length];
    const tip = { x: to.x - ux * (to.size + 3), y: to.y - uy * (to.size + 3) };
    context.strokeStyle = context.fillStyle = amem.relationColour(look(), link.relation);
    context.lineWidth = link.by === "person" ? 1.8 : 1.1 + (link.strength || 0);
    context.setLineDash(link.suggested ? [1.5, 4] : link.by === "person" ? [] : [6, 4]);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(tip.x, tip.y);
    context.stroke();
    if (length < from.size + to.size + 12) return;
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(tip.x + ux * 2, tip.y + uy * 2);
    context.lineTo(tip.x - ux * 6 - uy * 3.5, tip.y - uy * 6 + ux * 3.5);
    context.lineTo(tip.x - ux * 6 + uy * 3.5, tip.y - uy * 6 - ux * 3.5);
    context.fill();
  };

  const drawStrands = () => {
    const context = fresh("strands");
    const index = focus();
    const { linkShown, notes, suggested } = state.shown();
    // With a note in view only what leads to or from it.
    const near = index < 0 ? suggested
      : suggested.filter(({ source, target }) => source === index || target === index);
    const links = [...(index < 0 ? [] : network.notes[index].links), ...near];
    context.canvas.hidden = links.length === 0;
    // So many lines would hide the notes that they lead to.
    context.globalAlpha = links.length > MOST_STRANDS ? 0.3 : 1;
    for (const link of links) {
      if (!linkShown(link) || !notes[link.source] || !notes[link.target]) continue;
      drawStrand(context, placeOf(link.source), placeOf(link.target), link);
    }
  };

  const widthOf = (context, text, font) => {
    const key = `${font} ${text}`;
    if (!widths.has(key)) widths.set(key, context.measureText(text).width);
    return widths.get(key);
  };

  const shortLabel = (text) => {
    const letters = Array.from(text.slice(0, 2 * LONGEST_LABEL));
    return letters.length > LONGEST_LABEL || text.length > 2 * LONGEST_LABEL
      ? `${letters.slice(0, LONGEST_LABEL - 1).join("").trimEnd()}…` : text;
  };

  const apart = (box, other) => box.right < other.left || box.left > other.right ||
    box.bottom < other.top || box.top > other.bottom;

  // A label is drawn where no more important one lies.
  const makeBoard = (taken) => (box, owner = -1, must = false) => {
    const free = taken.every((other) => (other.owner === owner && owner >= 0) || apart(box, other));
    if (free || must) taken.push(box);
    return free;
  };

  // The dots that labels must not cover: those of the notes in view, where they are few.
  const dots = (shown, lit) => {
    const { width, height } = sigma.getDimensions();
    const boxes = [];
    for (const { index } of network.notes) {
      if (!shown[index] || (lit && !lit.has(index))) continue;
      const { x, y, size } = placeOf(index);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const half = size * 0.6;
      if (boxes.length === MOST_DOTS) return [];
      boxes.push({ owner: index, left: x - half, right: x + half, top: y - half, bottom: y + half });
    }
    return boxes;
  };

  // The buttons over the drawing, under which no label could be read.
  const buttons = () => {
    const from = sigma.getContainer().getBoundingClientRect();
    const { left, right, top, bottom } = amem.byId("zoom").getBoundingClientRect();
    return { left: left - from.left, right: right - from.left, top: top - from.top, bottom: bottom - from.top };
  };

  const write = (context, text, x, y, { font, colour, halo }) => {
    context.font = font;
    context.lineJoin = "round";
    context.lineWidth = halo;
    context.strokeStyle = look().paper;
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  };

  const meanOf = (places) => places.reduce((sum, { x, y }) =>
    ({ x: sum.x + x / places.length, y: sum.y + y / places.length }), { x: 0, y: 0 });

  // The centroid of a cluster's notes; a few that lie far from the others do not move it.
  const centroid = (members) => {
    let places = members.map(({ index }) => sigma.getNodeDisplayData(String(index)));
    for (let round = 0; round < 3; round += 1) {
      const { x, y } = meanOf(places);
      const away = (at) => Math.hypot(at.x - x, at.y - y);
      places = places.sort((a, b) => away(a) - away(b)).slice(0, Math.max(2, Math.ceil(places.length * 0.75)));
    }
    return meanOf(places);
  };
  let known = { shown: null, middles: new Map() };
  const middleOf = (cluster, members) => {
    const shown = state.shown();
    if (known.shown !== shown) known = { shown, middles: new Map() };
    if (!known.middles.has(cluster)) known.middles.set(cluster, centroid(members));
    return sigma.framedGraphToViewport(known.middles.get(cluster));
  };

  const drawClusterNames = (context, isFree) => {
    const ratio = sigma.getCamera().ratio;
    if (network.notes.length < 60 || network.clusters.length < 3 || ratio < 0.45) return;
    const { notes: shown } = state.shown();
    const { width } = sigma.getDimensions();
    const few = network.notes.length <= MOST_DOTS;
    // No name of a cluster lies over another, but over a dot rather than that it is left out.
    const written = [buttons()];
    const isClear = (box) => written.every((other) => apart(box, other));
    for (const cluster of network.clusters) {
      const members = cluster.notes.filter(({ index }) => shown[index]);
      if (members.length < 5) continue;
      const middle = middleOf(cluster, members);
      const size = Math.min(21, 11 + Math.sqrt(members.length) * 0.6);
      const font = `650 ${size}px ${LABEL_FONT}`;
      context.font = font;
      const text = shortLabel(cluster.name);
      const half = widthOf(context, text, font) / 2 + 6;
      const x = Math.max(half, Math.min(width - half, middle.x));
      const boxAt = (y) => ({ left: x - half, right: x + half, top: y - size * 0.8, bottom: y + size * 0.8 });
      // Above its notes where they lie together and can be told apart, else in their middle.
      const first = few && !network.placed
        ? Math.min(...members.map(({ index }) => placeOf(index)).map((at) => at.y - at.size)) - 13
        : middle.y;
      const rows = [0, -1, 1, -2, 2].map((row) => first + row * size * 1.3);
      const y = rows.find((each) => isClear(boxAt(each)) && isFree(boxAt(each))) ??
        rows.find((each) => isClear(boxAt(each)));
      if (y === undefined) continue;
      isFree(boxAt(y), -1, true);
      written.push(boxAt(y));
      const colour = amem.legible(look(), amem.clusterColour(look(), cluster.index), 4.5);
      write(context, text, x, y + size * 0.35, { font, colour, halo: 5 });
    }
  };

  const drawLabel = (context, isFree, index, { near, must, alpha }) => {
    const note = network.notes[index];
    const place = placeOf(index);
    const { width, height } = sigma.getDimensions();
    if (place.x < -60 || place.x > width + 60 || place.y < -30 || place.y > height + 30) return false;
    const size = must ? 13 : Math.max(11, Math.min(13.5, 9.5 + place.size * 0.28));
    const font = `${must || near ? 600 : 450} ${size}px ${LABEL_FONT}`;
    context.font = font;
    const text = shortLabel(note.title);
    const half = widthOf(context, text, font) / 2;
    const aside = place.size + half + 5;
    const boxAt = ({ x, y }) =>
      ({ left: x - half - 4, right: x + half + 4, top: y - size, bottom: y + 4 });
    // Below its dot where there is room, else beside or above it.
    const spots = [
      { x: place.x, y: place.y + place.size + size + 2 },
      { x: place.x + aside, y: place.y + size * 0.35 },
      { x: place.x - aside, y: place.y + size * 0.35 },
      { x: place.x, y: place.y - place.size - 5 },
    ];
    const inside = ({ x }) => x - half > 4 && x + half < width - 4;
    const spot = spots.find((each) => inside(each) && isFree(boxAt(each), index)) || (must ? spots[0] : null);
    if (!spot) return false;
    if (must) isFree(boxAt(spot), index, true);
    context.globalAlpha = alpha;
    write(context, text, spot.x, spot.y, { font, colour: look().ink, halo: 3.5 });
    context.globalAlpha = 1;
    return true;
  };

  const byImportance = network.notes.map(({ index }) => index)
    .sort((a, b) => network.notes[b].near.size - network.notes[a].near.size || a - b);

  const drawNames = (lit) => {
    const context = fresh("names");
    context.textAlign = "center";
    const { notes: shown } = state.shown();
    const isFree = makeBoard([...dots(shown, lit), buttons()]);
    const index = focus();
    if (index >= 0 && shown[index]) drawLabel(context, isFree, index, { must: true, alpha: 1 });
    if (lit) {
      const near = byImportance.filter((each) => each !== index && lit.has(each) && shown[each]);
      for (const each of near.slice(0, 60)) drawLabel(context, isFree, each, { near: true, alpha: 1 });
      return;
    }
    drawClusterNames(context, isFree);
    const { width, height } = sigma.getDimensions();
    // From afar the names of the clusters say more of so many notes.
    const room = network.notes.length > 1500 && sigma.getCamera().ratio > 0.5 ? 3 * LABEL_ROOM : LABEL_ROOM;
    let left = Math.ceil((width * height) / room);
    const least = network.notes.length > 1500 ? 2.6 : 0;
    for (const each of byImportance) {
      if (left <= 0) break;
      if (!shown[each] || each === index) continue;
      const data = sigma.getNodeDisplayData(String(each));
      if (sigma.scaleSize(data.size) < least) continue;
      if (drawLabel(context, isFree, each, { alpha: 0.92 })) left -= 1;
    }
  };

  // Rings around the note in view, so that it is not told by its colour alone.
  const drawRing = () => {
    const index = focus();
    if (index < 0 || !state.shown().notes[index]) return;
    const context = contextOf("names");
    const place = placeOf(index);
    context.lineWidth = 2;
    context.strokeStyle = look().ink;
    context.beginPath();
    context.arc(place.x, place.y, place.size + 3, 0, 2 * Math.PI);
    context.stroke();
  };

  return {
    // After the notes moved.
    forget: () => { known = { shown: null, middles: new Map() }; },
    draw: (lit) => {
      drawStrands();
      drawNames(lit);
      drawRing();
    },
  };
};
