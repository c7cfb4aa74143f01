"use strict";
// The network as it was on a day: the stops are the days on which a note or link was added.

const STOPS_OF_A_SHOW = 120;
const BEAT_MS = 100;

amem.makeTime = ({ network, state }) => {
  const slider = amem.byId("until");
  const button = amem.byId("play");
  const last = network.days.length - 1;
  let beat = 0;

  const now = () => (state.get().until < 0 ? last : state.get().until);
  const go = (day) => state.change({ until: day >= last ? -1 : day });

  const draw = () => {
    amem.byId("time").hidden = last < 1;
    if (last < 1) return;
    const { count, linkCount } = state.shown();
    const text = `${network.days[now()]} · ${amem.counted(count, "note")} · ${amem.counted(linkCount, "link")}`;
    slider.max = last;
    slider.value = now();
    slider.setAttribute("aria-valuetext", text);
    amem.byId("until-told").textContent = text;
    button.textContent = beat ? "Pause" : "Play";
  };

  const stop = () => {
    clearTimeout(beat);
    beat = 0;
  };
  const step = () => {
    const next = now() + Math.ceil(last / STOPS_OF_A_SHOW);
    beat = next < last ? setTimeout(step, BEAT_MS) : 0;
    go(next);
  };
  const toggle = () => {
    if (last < 1) return;
    if (beat) {
      stop();
      draw();
    } else {
      beat = setTimeout(step, BEAT_MS);
      // From the beginning, once everything is shown.
      go(now() >= last ? 0 : now());
    }
  };

  button.addEventListener("click", toggle);
  slider.addEventListener("input", () => {
    stop();
    go(Number(slider.value));
  });
  return { draw, toggle };
};
