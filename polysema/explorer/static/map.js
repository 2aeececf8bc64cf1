// The vocabulary as points on a canvas: an image is filled point by point, so that a frame costs a few milliseconds.
const atlas = document.querySelector("[data-map]");
const canvas = atlas.querySelector("canvas");
const context = canvas.getContext("2d");
const drawing = document.querySelector("[data-drawing]");
const told = atlas.querySelector("[data-told]");
const SIZE = 8191;
const view = { scale: 1, x: 0, y: 0 }; // pixels a unit, and where the unit 0 lies
let words = [], xs = [], ys = [], shades = [], order = [], lower = [];
let image = null, buffer = null, colours = [], styles = null;
let selecting = false, area = null, found = -1, near = -1, frame = 0;

async function load() {
  atlas.hidden = true;
  drawing.hidden = false;
  for (;;) {
    const answer = await fetch(atlas.dataset.map).catch(() => null);
    if (answer === null || answer.status > 202) break;
    if (answer.status === 200) {
      const facts = await answer.json();
      words = facts.words;
      xs = Float32Array.from(facts.x);
      ys = Float32Array.from(facts.y, (y) => SIZE - y);
      shades = Uint8Array.from(facts.ambiguity, (share) => share < 0 ? 0 : Math.min(9, 1 + Math.floor(share * 0.0899)));
      lower = words.map((word) => word.toLowerCase());
      order = Array.from(words, (_, i) => i);
      atlas.hidden = false;
      drawing.hidden = true;
      resize(true);
      search(new URLSearchParams(location.search).get("w") ?? "");
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
  drawing.hidden = true;
  told.textContent = "The map could not be loaded. Reload the page.";
  atlas.hidden = false;
}

function resize(whole = false) {
  const box = canvas.getBoundingClientRect();
  const density = Math.min(devicePixelRatio || 1, 2);
  canvas.width = Math.round(box.width * density);
  canvas.height = Math.round(box.height * density);
  image = context.createImageData(canvas.width, canvas.height);
  buffer = new Uint32Array(image.data.buffer);
  const style = getComputedStyle(document.documentElement);
  const packed = (name) => {
    const [r, g, b] = style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map((hex) => parseInt(hex, 16));
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  };
  styles = { paper: packed("--paper"), ink: style.getPropertyValue("--ink"), ring: style.getPropertyValue("--ring"), halo: style.getPropertyValue("--paper"), density };
  colours = Array.from({ length: 10 }, (_, k) => packed(`--e${Math.max(k, 2)}`));
  if (whole) fit();
  draw();
}

function fit() {
  view.scale = Math.min(canvas.width, canvas.height) / SIZE * 0.96;
  view.x = (canvas.width - SIZE * view.scale) / 2;
  view.y = (canvas.height - SIZE * view.scale) / 2;
}

function draw() {
  if (!frame) frame = requestAnimationFrame(paint);
}

function paint() {
  frame = 0;
  const start = performance.now();
  const { width, height } = canvas;
  const { scale, x, y } = view;
  buffer.fill(styles.paper);
  const base = Math.min(width, height) / SIZE;
  const radius = Math.max(1, Math.min(5, Math.round(styles.density * (0.8 + 0.5 * Math.log2(scale / base + 1)))));
  const rows = Array.from({ length: 2 * radius + 1 }, (_, k) => Math.floor(Math.sqrt(radius * radius + 0.5 - (k - radius) ** 2)));
  for (let i = words.length - 1; i >= 0; i--) {
    const px = Math.round(xs[i] * scale + x), py = Math.round(ys[i] * scale + y);
    if (px < radius || py < radius || px >= width - radius || py >= height - radius) continue;
    const colour = colours[shades[i]];
    for (let k = -radius; k <= radius; k++) {
      const at = (py + k) * width + px, half = rows[k + radius];
      for (let j = at - half; j <= at + half; j++) buffer[j] = colour;
    }
  }
  context.putImageData(image, 0, 0);
  labels();
  canvas.dataset.ms = (performance.now() - start).toFixed(1);
}

// The most frequent words in sight, where no other label stands.
function labels() {
  const size = 13 * styles.density, taken = [];
  context.font = `${size}px system-ui, sans-serif`;
  context.lineWidth = 3 * styles.density;
  context.strokeStyle = styles.halo;
  context.fillStyle = styles.ink;
  const most = Math.round(canvas.width * canvas.height / (15000 * styles.density ** 2));
  const put = (i, always) => {
    const px = xs[i] * view.scale + view.x, py = ys[i] * view.scale + view.y;
    if (px < 0 || py < 0 || px > canvas.width || py > canvas.height) return;
    const wide = context.measureText(words[i]).width;
    const left = Math.min(Math.max(px + 5 * styles.density, 4), canvas.width - wide - 4);
    const box = [left - 3, py - size * 0.75, left + wide + 3, py + size * 0.55];
    if (!always && taken.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])) return;
    taken.push(box);
    context.strokeText(words[i], left, py + size * 0.3);
    context.fillText(words[i], left, py + size * 0.3);
  };
  const mark = (i) => {
    context.strokeStyle = styles.ring;
    context.beginPath();
    context.arc(xs[i] * view.scale + view.x, ys[i] * view.scale + view.y, 7 * styles.density, 0, 7);
    context.stroke();
    context.strokeStyle = styles.halo;
  };
  for (const i of [found, near]) if (i >= 0) { mark(i); put(i, true); }
  for (let i = 0, tried = 0; i < words.length && taken.length < most && tried < 1500; i++) {
    const px = xs[i] * view.scale + view.x, py = ys[i] * view.scale + view.y;
    if (px < 0 || py < 0 || px > canvas.width || py > canvas.height) continue;
    tried++;
    put(i, false);
  }
  if (area !== null) {
    context.strokeStyle = styles.ring;
    context.strokeRect(area.x0, area.y0, area.x1 - area.x0, area.y1 - area.y0);
  }
}

function zoom(factor, cx = canvas.width / 2, cy = canvas.height / 2) {
  const least = Math.min(canvas.width, canvas.height) / SIZE * 0.5;
  const scale = Math.max(least, Math.min(view.scale * factor, least * 400));
  view.x = cx - (cx - view.x) * scale / view.scale;
  view.y = cy - (cy - view.y) * scale / view.scale;
  view.scale = scale;
  area = null;
  draw();
}

function search(text) {
  text = text.trim().toLowerCase();
  if (!text) return;
  found = lower.indexOf(text);
  if (found < 0) found = lower.findIndex((word) => word.startsWith(text));
  if (found < 0) { told.textContent = `“${text}” is not on the map.`; return; }
  view.scale = Math.max(view.scale, Math.min(canvas.width, canvas.height) / SIZE * 9);
  view.x = canvas.width / 2 - xs[found] * view.scale;
  view.y = canvas.height / 2 - ys[found] * view.scale;
  const link = document.createElement("a");
  link.href = wordUrl(words[found]);
  link.textContent = `What ${words[found]} means`;
  told.replaceChildren(link);
  draw();
}

function at(event) {
  const box = canvas.getBoundingClientRect();
  return [(event.clientX - box.left) * styles.density, (event.clientY - box.top) * styles.density];
}

function nearest(px, py, reach = 12) {
  let best = (reach * styles.density) ** 2, who = -1;
  for (let i = 0; i < words.length; i++) {
    const dx = xs[i] * view.scale + view.x - px, dy = ys[i] * view.scale + view.y - py, far = dx * dx + dy * dy;
    if (far < best) { best = far; who = i; }
  }
  return who;
}

function list() {
  const [x0, x1] = [area.x0, area.x1].sort((a, b) => a - b), [y0, y1] = [area.y0, area.y1].sort((a, b) => a - b);
  const inside = order.filter((i) => {
    const px = xs[i] * view.scale + view.x, py = ys[i] * view.scale + view.y;
    return px >= x0 && px <= x1 && py >= y0 && py <= y1;
  });
  const section = atlas.querySelector("[data-listed]");
  section.hidden = false;
  section.querySelector("h2").textContent = `${inside.length.toLocaleString("en")} words of the area${inside.length > 300 ? ", the 300 most frequent" : ""}`;
  section.querySelector("ul").replaceChildren(...inside.slice(0, 300).map((i) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = wordUrl(words[i]);
    link.textContent = words[i];
    item.append(link);
    return item;
  }));
}

function wordUrl(word) {
  const url = new URL(atlas.dataset.word, location);
  url.searchParams.set("w", word);
  return url;
}

const pointers = new Map();
let moved = false;

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  const [px, py] = at(event);
  pointers.set(event.pointerId, [px, py]);
  moved = false;
  if (selecting && pointers.size === 1) area = { x0: px, y0: py, x1: px, y1: py };
});

canvas.addEventListener("pointermove", (event) => {
  const [px, py] = at(event);
  const old = pointers.get(event.pointerId);
  if (old === undefined) {
    const who = nearest(px, py);
    if (who !== near) { near = who; told.textContent = who < 0 ? "" : words[who]; draw(); }
    return;
  }
  if (Math.abs(px - old[0]) + Math.abs(py - old[1]) < 2) return;
  moved = true;
  if (selecting) { area.x1 = px; area.y1 = py; }
  else if (pointers.size === 1) { view.x += px - old[0]; view.y += py - old[1]; area = null; }
  else {
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    const before = Math.hypot(old[0] - other[0], old[1] - other[1]);
    zoom(Math.hypot(px - other[0], py - other[1]) / Math.max(before, 1), other[0], other[1]);
  }
  pointers.set(event.pointerId, [px, py]);
  draw();
});

function up(event) {
  if (!pointers.delete(event.pointerId)) return;
  if (selecting && area !== null && moved) { list(); select(false); }
  else if (!moved && event.type === "pointerup") {
    const who = nearest(...at(event), 16);
    if (who >= 0) location.assign(wordUrl(words[who]));
  }
  draw();
}
canvas.addEventListener("pointerup", up);
canvas.addEventListener("pointercancel", up);
canvas.addEventListener("pointerleave", () => { if (near >= 0) { near = -1; draw(); } });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * 0.0016), ...at(event));
}, { passive: false });

canvas.addEventListener("keydown", (event) => {
  const step = 60 * styles.density;
  const move = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
  if (move) { view.x += move[0]; view.y += move[1]; area = null; draw(); }
  else if (event.key === "+" || event.key === "=") zoom(1.6);
  else if (event.key === "-") zoom(0.625);
  else return;
  event.preventDefault();
});

function select(on) {
  selecting = on;
  canvas.classList.toggle("selecting", on);
  atlas.querySelector("[data-select]").setAttribute("aria-pressed", on);
}

atlas.querySelector("[data-select]").addEventListener("click", () => select(!selecting));
atlas.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
  const factor = Number(button.dataset.zoom);
  if (factor) zoom(factor);
  else { fit(); found = -1; draw(); }
}));
atlas.querySelector("[data-search]").addEventListener("submit", (event) => {
  event.preventDefault();
  search(atlas.querySelector("#m").value);
});
addEventListener("resize", () => { if (words.length) resize(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (words.length) resize(); });
load();
