"use strict";
// Colours that people with any colour vision can tell apart, after Paul Tol's schemes.

amem.palettes = {
  light: {
    paper: "#faf9f6", ink: "#22252b", faint: "#8b8f98", edge: "#8a93a3", alone: "#a9aeb8",
    clusters: ["#4477aa", "#ee7733", "#228866", "#cc3f6b", "#33a9c9", "#8b5fbf", "#b39b1c",
      "#a3564e", "#5a8f3c", "#6b7fd7"],
    relations: { related: "#6b7484", supports: "#117755", contradicts: "#cc3311",
      supersedes: "#aa3377", example_of: "#0077bb", part_of: "#7a5fc0", causes: "#b36b00", "": "#4a5160" },
  },
  dark: {
    paper: "#14161b", ink: "#e9eaee", faint: "#7d8492", edge: "#76808f", alone: "#5d6470",
    clusters: ["#77aadd", "#ee9a66", "#4fc3a1", "#f28aa8", "#8fdcf5", "#bb9af0", "#e6d36f",
      "#d99a8f", "#a5c96a", "#98a6f2"],
    relations: { related: "#a3acbb", supports: "#44cc99", contradicts: "#ff7a5c",
      supersedes: "#f08fc0", example_of: "#66b8ff", part_of: "#b9a3f5", causes: "#f0b050", "": "#c9ced8" },
  },
};

amem.mix = (colour, other, share) => {
  const part = (text, at) => parseInt(text.slice(at, at + 2), 16);
  const mixed = [1, 3, 5].map((at) =>
    Math.round(part(colour, at) * share + part(other, at) * (1 - share)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
};

// Of a line or text on paper, as WCAG 2 reckons it.
amem.contrast = (colour, other) => {
  const light = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const [less, more] = [light(colour), light(other)].sort((a, b) => a - b);
  return (more + 0.05) / (less + 0.05);
};

// A colour with so much ink in it that it has this contrast with the paper.
const inked = new Map();
amem.legible = (palette, colour, least) => {
  const key = `${palette.paper} ${colour} ${least}`;
  if (!inked.has(key)) {
    let share = 1;
    while (share > 0 && amem.contrast(amem.mix(colour, palette.ink, share), palette.paper) < least) share -= 0.05;
    inked.set(key, amem.mix(colour, palette.ink, Math.max(0, share)));
  }
  return inked.get(key);
};

amem.clusterColour = (palette, cluster) =>
  cluster < 0 ? palette.alone : palette.clusters[cluster % palette.clusters.length];

amem.relationColour = (palette, relation) =>
  palette.relations[relation] || palette.relations.related;
