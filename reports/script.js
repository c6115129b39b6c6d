// The page reads without this: it adds copying, a filter, and opens what is linked to or printed.
(() => {
  const each = (selector, work) => document.querySelectorAll(selector).forEach(work);

  const copy = async (text, source) => {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const range = document.createRange();
    range.selectNodeContents(source);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    if (!document.execCommand("copy")) throw new Error("not allowed");
  };

  each("button.copy", (button) => {
    const source = document.getElementById(button.dataset.copy);
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await copy(source.textContent, source);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Press Ctrl+C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  });

  const wanted = {
    all: () => true,
    problems: (status) => ["fail", "error", "warn"].includes(status),
    skip: (status) => status === "skip",
  };
  const show = (name) => {
    each("details.check", (check) => { check.hidden = !wanted[name](check.dataset.status); });
    each("[data-stage]", (stage) => {
      stage.hidden = !stage.querySelector("details.check:not([hidden])");
    });
    each("[data-show]", (button) => {
      button.setAttribute("aria-pressed", String(button.dataset.show === name));
    });
  };
  each(".filter", (bar) => { bar.hidden = false; });
  each("[data-show]", (button) => button.addEventListener("click", () => show(button.dataset.show)));
  each("[data-open]", (button) => button.addEventListener("click", () => {
    const open = button.dataset.open === "all";
    each("details.check", (check) => { check.open = open; });
    button.dataset.open = open ? "none" : "all";
    button.textContent = open ? "Close all" : "Open all";
  }));

  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!(target instanceof HTMLDetailsElement)) return;
    if (target.hidden) show("all");
    target.open = true;
    target.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", reveal);
  reveal();

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((details) => { details.open = false; }));
})();
