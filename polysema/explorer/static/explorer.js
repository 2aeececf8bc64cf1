// Answers while one types, cards over words, the player, copying, three keys. Every page works without this.
const page = document;
const inText = (target) => target.closest("input, select, textarea, [contenteditable]") !== null;
const byId = (id) => page.getElementById(id);

// ------------------------------------------------------------------------------------------ a result without a reload
let asking = null;

async function show(href, focused) {
  asking?.abort();
  const own = asking = new AbortController();
  const result = byId("result");
  result.classList.add("busy");
  try {
    const answer = await fetch(href, { signal: own.signal });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = found.getElementById("result");
    if (fresh === null) {
      if (focused === undefined && answer.ok) location.assign(href);
      say(found.querySelector(".trouble p")?.textContent ?? "No answer came. Try again.");
      result.classList.remove("busy");
      return;
    }
    const open = [...result.querySelectorAll("details[open]")].map((item) => item.id);
    open.forEach((id) => { const item = id && fresh.querySelector(`#${id}`); if (item) item.open = true; });
    hide();
    result.replaceWith(fresh);
    page.title = found.title;
    prepare();
    if (focused) page.querySelector(`[data-step=${focused}]`)?.focus({ preventScroll: true });
  } catch (error) {
    if (error.name === "AbortError") return;
    say("The explorer does not answer. Is it still running?");
    result.classList.remove("busy");
  }
}

function say(message) {
  const line = byId("trouble");
  if (line === null) return;
  line.textContent = message;
  line.hidden = message === "";
}

// ---------------------------------------------------------------------------------------------------- while one types
let timer = 0;

page.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-live]");
  if (form === null) return;
  clearTimeout(timer);
  timer = setTimeout(() => ask(form), 60);
});

function ask(form) {
  const text = form.elements.s.value.trim();
  const most = Number(form.elements.s.dataset.most);
  if (text.length > most) {
    asking?.abort();
    say(`${text.length.toLocaleString("en")} characters: at most ${most.toLocaleString("en")} are read here. Give one sentence. The command polysema read takes whole files.`);
    return;
  }
  say("");
  const query = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value && name !== "s"));
  if (text) query.set("s", text);
  const href = `${form.dataset.live}${query.size ? `?${query}` : ""}`;
  history.replaceState(null, "", href);
  show(href, "");
}

page.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("form[data-live]") && byId("result")) {
    event.preventDefault();
    clearTimeout(timer);
    ask(form);
    return;
  }
  if (!form.matches("[action]")) return;
  const button = form.querySelector("button");
  if (button === null) return;
  button.dataset.text ??= button.textContent;
  button.textContent = "Working …";
});

addEventListener("pageshow", () => {
  page.querySelectorAll("button[data-text]").forEach((button) => { button.textContent = button.dataset.text; });
});

addEventListener("popstate", () => location.reload());

// -------------------------------------------------------------------------------------------------- cards over words
let pop = null;
let leaving = 0;

function card(word) {
  const body = byId(word.dataset.word)?.querySelector(".card-body");
  if (body == null || pop?.word === word) return;
  hide();
  const box = page.createElement("div");
  box.className = "pop";
  box.id = "pop";
  box.setAttribute("role", "tooltip");
  const head = page.createElement("h2");
  const summary = byId(word.dataset.word).querySelector("summary");
  if (summary !== null) {
    head.append(...[...summary.cloneNode(true).childNodes].filter((node) => !node.classList?.contains("means")));
  } else head.textContent = word.textContent;
  box.append(head, ...body.cloneNode(true).childNodes);
  byId("main").append(box);
  const at = word.getBoundingClientRect();
  const left = Math.max(14, Math.min(at.left + scrollX, scrollX + page.documentElement.clientWidth - box.offsetWidth - 14));
  const room = innerHeight - at.bottom - 16;
  const below = room >= box.offsetHeight || room >= at.top;
  box.style.maxHeight = `${Math.max(below ? room : at.top - 14, 160)}px`;
  box.style.left = `${left}px`;
  box.style.top = `${scrollY + (below ? at.bottom + 8 : at.top - box.offsetHeight - 6)}px`;
  word.classList.add("shown");
  word.setAttribute("aria-describedby", "pop");
  pop = { word, box };
  box.addEventListener("pointerenter", () => clearTimeout(leaving));
  box.addEventListener("pointerleave", later);
}

function hide() {
  clearTimeout(leaving);
  if (pop === null) return;
  pop.word.classList.remove("shown");
  pop.word.removeAttribute("aria-describedby");
  pop.box.remove();
  pop = null;
}

const later = () => { clearTimeout(leaving); leaving = setTimeout(hide, 220); };
const wordOf = (event) => event.target.closest?.("a.word");

page.addEventListener("pointerover", (event) => {
  const word = wordOf(event);
  if (word && event.pointerType === "mouse") { clearTimeout(leaving); card(word); }
});
page.addEventListener("pointerout", (event) => { if (wordOf(event) && event.pointerType === "mouse") later(); });
page.addEventListener("focusin", (event) => { const word = wordOf(event); if (word) card(word); });
page.addEventListener("focusout", (event) => { if (wordOf(event)) later(); });
page.addEventListener("click", (event) => {
  const word = wordOf(event);
  if (word && byId(word.dataset.word)?.querySelector(".card-body")) {
    event.preventDefault();
    card(word);
  } else if (pop !== null && !pop.box.contains(event.target)) hide();
});

// -------------------------------------------------------------------------------------------------------- the player
let playing = 0;

function stop() {
  clearInterval(playing);
  playing = 0;
  const button = page.querySelector("[data-play]");
  if (button) button.textContent = "▶ Play";
}

const percent = (share) => share > 0 && share < 0.005 ? "< 1 %" : share > 0.995 && share < 1 ? "> 99 %" : `${Math.round(100 * share)} %`;

function goTo(step) {
  const player = page.querySelector("[data-player]");
  const heard = JSON.parse(player.dataset.heard ?? "[]");
  const last = heard.length;
  step = Math.max(1, Math.min(step, last));
  player.dataset.step = step;
  player.querySelector("[data-count]").textContent = step;
  player.querySelector("[data-heard]").textContent = heard[step - 1].text;
  player.querySelectorAll(".track").forEach((track) => {
    const shares = JSON.parse(track.dataset.steps)[step - 1];
    const word = player.querySelector(`[data-word=${track.id}]`);
    track.classList.toggle("later", shares === null);
    track.querySelector(".cursor").setAttribute("x", 10 * (step - 1));
    track.querySelectorAll("[data-p]").forEach((shown) => { shown.textContent = shares === null ? "–" : percent(shares[shown.dataset.p]); });
    const rest = track.querySelector("[data-rest]");
    if (rest) rest.textContent = shares === null ? "–" : percent(1 - shares.slice(0, 4).reduce((sum, share) => sum + share, 0));
    word?.classList.toggle("later", shares === null);
    let at = 0;
    word?.querySelectorAll("rect").forEach((rect, k) => {
      const share = shares === null ? 0 : k < shares.length ? 100 * shares[k] : Math.max(0, 100 - at);
      rect.setAttribute("x", at);
      rect.setAttribute("width", share);
      at += share;
    });
  });
  player.querySelectorAll(".reading span").forEach((piece) => piece.classList.toggle("later", step < last && Number(piece.dataset.start) >= heard[step - 1].end));
  const latest = {}; // the last turn of each word so far
  const turns = [...player.querySelectorAll("[data-at]")];
  for (const line of turns) if (Number(line.dataset.at) <= step) latest[line.dataset.of] = line;
  for (const line of turns) line.hidden = latest[line.dataset.of] !== line;
  const url = new URL(location);
  if (step === last) url.searchParams.delete("step");
  else url.searchParams.set("step", step);
  history.replaceState(null, "", url);
  player.querySelectorAll("a[data-step]").forEach((link) => {
    const off = step === (["first", "back"].includes(link.dataset.step) ? 1 : last);
    if (off) link.setAttribute("aria-disabled", "true");
    else link.removeAttribute("aria-disabled");
    link.setAttribute("href", url);
  });
  return step < last;
}

page.addEventListener("click", (event) => {
  const player = page.querySelector("[data-player]");
  if (player === null) return;
  const link = event.target.closest("a[data-step]");
  const step = Number(player.dataset.step);
  const last = JSON.parse(player.dataset.heard).length;
  if (link !== null) {
    event.preventDefault();
    stop();
    if (!link.hasAttribute("aria-disabled")) goTo({ first: 1, back: step - 1, on: step + 1, last }[link.dataset.step]);
  } else if (event.target.closest("[data-play]")) {
    if (playing) return stop();
    event.target.textContent = "❚❚ Pause";
    goTo(step === last ? 1 : step);
    playing = setInterval(() => { if (!page.querySelector("[data-player]") || !goTo(Number(page.querySelector("[data-player]").dataset.step) + 1)) stop(); }, 900);
  }
});

// ------------------------------------------------------------------------------------------------- keys, copying, rest
page.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (button === null) return;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
  setTimeout(() => { button.textContent = "Copy link"; }, 2000);
});

page.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
  if (event.key === "Enter" && event.target.matches("form textarea") && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || inText(event.target)) return;
  if (event.key === "/") {
    event.preventDefault();
    byId("find").focus();
  }
  if (event.target.closest(".scroll, canvas") !== null) return;
  const which = { ArrowLeft: "back", ArrowRight: "on" }[event.key];
  if (which) page.querySelector(`a[data-step=${which}][href]`)?.click();
});

function prepare() {
  page.querySelectorAll("[data-copy], [data-play]").forEach((button) => { button.hidden = false; });
}

const box = byId("s");
if (box !== null && box.maxLength > 0) {
  box.dataset.most = box.maxLength;
  box.removeAttribute("maxlength"); // a long text is told, not cut
}
prepare();
