// Steps without a reload, and three keys. Every link works without this.
const inText = (target) => target.closest("input, select, textarea, [contenteditable]") !== null;

async function show(href, which) {
  const result = document.getElementById("result");
  result.classList.add("busy");
  try {
    const answer = await fetch(href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById("result");
    if (!answer.ok || found === null) throw new Error("no result");
    const open = [...result.querySelectorAll("details")].map((item) => item.open);
    const left = result.querySelector(".scroll")?.scrollLeft ?? 0;
    found.querySelectorAll("details").forEach((item, i) => { item.open = open[i] ?? false; });
    result.replaceWith(found);
    const scroll = found.querySelector(".scroll");
    if (scroll !== null) scroll.scrollLeft = left;
    if (which) found.querySelector(`[data-step=${which}]`)?.focus({ preventScroll: true });
  } catch {
    location.assign(href);
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-step][href]");
  if (link === null || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  show(link.href, link.dataset.step);
});

document.addEventListener("submit", (event) => {
  const button = event.target.querySelector("button");
  if (button === null) return;
  button.dataset.text ??= button.textContent;
  button.textContent = "Working …";
  document.getElementById("main").setAttribute("aria-busy", "true");
});

addEventListener("pageshow", () => {
  document.querySelectorAll("button[data-text]").forEach((button) => { button.textContent = button.dataset.text; });
  document.getElementById("main").removeAttribute("aria-busy");
});

addEventListener("popstate", () => {
  if (document.getElementById("result") === null) location.reload();
  else show(location.href, "");
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || inText(event.target)) return;
  if (event.target.closest(".scroll") !== null && event.key !== "/") return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("find").focus();
  }
  const which = { ArrowLeft: "back", ArrowRight: "on" }[event.key];
  if (which) document.querySelector(`a[data-step=${which}][href]`)?.click();
});
