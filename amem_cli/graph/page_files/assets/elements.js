"use strict";
// Makes elements; what a note says only ever becomes text.

amem.element = (name, { text, ...properties } = {}, children = []) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key === "on") {
      for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    } else if (key === "style") {
      for (const [rule, setting] of Object.entries(value)) made.style.setProperty(rule, setting);
    } else {
      made.setAttribute(key, value === true ? "" : String(value));
    }
  }
  if (text !== undefined) made.textContent = text;
  made.append(...children.filter(Boolean));
  return made;
};

amem.byId = (id) => document.getElementById(id);

amem.counted = (count, one, many = `${one}s`) =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

amem.announce = (text) => {
  amem.byId("announcement").textContent = text;
};

amem.prefersStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
