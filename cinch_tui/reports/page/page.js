"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const query = element("query"), count = element("count"), fold = element("fold");
  const BLOCKS = "p,pre,li,td,th,h1,h2,h3,h4,h5,h6,summary,header,blockquote,div";
  const MOST = 2000;
  let matches = [], current = -1, timer = 0;

  function clear() {
    for (const mark of document.querySelectorAll("main mark")) {
      const parent = mark.parentNode;
      mark.replaceWith(...mark.childNodes);
      parent.normalize();
    }
    matches = [];
    current = -1;
  }

  // Text nodes of one block form one text, because highlighted code is split into many.
  function* blocks() {
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    let nodes = [], block = null;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const own = node.parentElement.closest(BLOCKS);
      if (own !== block && nodes.length) {
        yield nodes;
        nodes = [];
      }
      block = own;
      nodes.push(node);
    }
    if (nodes.length) yield nodes;
  }

  function wrap(nodes, from, to) {
    const parts = [];
    let start = 0;
    for (const node of nodes) {
      const end = start + node.length;
      if (end > from && start < to) parts.push([node, Math.max(from - start, 0), Math.min(to, end) - start]);
      start = end;
    }
    return parts.map(([node, first, last]) => {
      const range = document.createRange();
      range.setStart(node, first);
      range.setEnd(node, last);
      const mark = document.createElement("mark");
      range.surroundContents(mark);
      return mark;
    });
  }

  function search() {
    clear();
    const wanted = query.value;
    if (wanted) {
      const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&"), "giu");
      const found = [];
      for (const nodes of blocks()) {
        const text = nodes.map((node) => node.data).join("");
        for (const match of text.matchAll(pattern)) found.push([nodes, match.index, match.index + match[0].length]);
        if (found.length > MOST) break;
      }
      // From the end, so that earlier offsets stay valid.
      matches = found.reverse().map(([nodes, from, to]) => wrap(nodes, from, to)).reverse();
    }
    move(1);
  }

  function move(step) {
    for (const mark of matches[current] ?? []) mark.classList.remove("current");
    current = matches.length ? (current + step + matches.length) % matches.length : -1;
    const marks = matches[current] ?? [];
    for (const mark of marks) mark.classList.add("current");
    if (marks.length) reveal(marks[0]);
    const total = matches.length > MOST ? `${MOST}+` : matches.length;
    count.textContent = query.value ? (matches.length ? `${current + 1} of ${total}` : "no matches") : "";
  }

  function reveal(target) {
    for (let each = target.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
    target.scrollIntoView({ block: "center" });
  }

  query.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 200);
  });
  query.addEventListener("keydown", (event) => {
    if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") {
      query.value = "";
      search();
      query.blur();
    }
  });
  element("next").addEventListener("click", () => move(1));
  element("previous").addEventListener("click", () => move(-1));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== query) {
      event.preventDefault();
      query.focus();
    }
  });

  fold.addEventListener("click", () => {
    const all = [...document.querySelectorAll("main details")];
    const open = all.some((each) => !each.open);
    for (const each of all) each.open = open;
    fold.textContent = open ? "Fold all" : "Unfold all";
  });

  element("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  for (const each of document.querySelectorAll("time")) {
    each.title = each.textContent;
    each.textContent = new Date(each.dateTime).toLocaleString();
  }

  function follow() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target) reveal(target);
  }
  addEventListener("hashchange", follow);
  follow();
})();
