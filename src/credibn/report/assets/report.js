"use strict";

// Wires the report: the graph with its threshold, the browser of classes, the heat map and the sortable table.
// What is drawn comes from the JSON in #drawn; the page shows the same in tables where no script runs.

function byId(id) {
  return document.getElementById(id);
}

// An edge of the graph: the wider, the more probable; dashed where it is not sure; with a head where its direction is
// decided.
function probableEdge(pair, names) {
  const { ends: [a, b], joined, direction, width, dashes, words } = pair;
  const overAll = words.over_all ? ` in the set, ${words.over_all} over all networks` : "";
  return {
    ends: [a, b],
    heads: [direction < 0, direction > 0],
    joined,
    width,
    dashes,
    classes: direction ? "settled" : "open",
    words: `${names[a]} and ${names[b]} are joined: ${words.joined}${overAll} (${names[a]} → ${names[b]} ` +
      `${words.forward}, ${names[b]} → ${names[a]} ${words.backward}${overAll && " in the set"}).`,
  };
}

function startGraph(drawn) {
  const viewer = byId("graph-view"), slider = byId("threshold"), onlyOpen = byId("only-open");
  const printed = byId("threshold-printed");
  const view = new GraphView(viewer, drawn.names, drawn.layout);
  const edges = drawn.pairs.map((pair) => probableEdge(pair, drawn.names));
  const isSure = (edge) => !edge.dashes && edge.classes === "settled";
  const update = () => {
    const shown = edges.filter((edge) => edge.joined >= slider.value / 100 - 1e-6 && !(onlyOpen?.checked && isSure(edge)));
    byId("threshold-shown").textContent = `${slider.value} %`;
    byId("n-drawn").textContent = `${shown.length} of ${edges.length} shown`;
    printed.textContent = `Edges with a probability of at least ${slider.value} % ${printed.dataset.over}.`;
    view.show(shown);
  };
  slider.addEventListener("input", update);
  onlyOpen?.addEventListener("change", update);
  update();
  if (byId("find")) startFinding(view, drawn.names);
}

// The box to find a variable in: it is brought into view, alone with its neighbourhood where that is asked for.
function startFinding(view, names) {
  const box = byId("find"), steps = byId("steps");
  const find = () => {
    const node = names.indexOf(box.value);
    const isFound = node >= 0;
    byId("find-told").textContent = box.value && !isFound ? "No variable has this name." : "";
    view.restrict(isFound && steps.value ? view.near(node, Number(steps.value)) : null);
    if (isFound) view.centre(node);
    else view.choose(null);
  };
  for (const event of ["input", "change"]) box.addEventListener(event, find);
  steps.addEventListener("change", find);
}

function classEdges(found, best, names) {
  const bestMark = new Map();
  for (const [a, b] of best.directed) bestMark.set(keyOf(a, b), `${a}>${b}`);
  for (const [a, b] of best.undirected) bestMark.set(keyOf(a, b), "-");
  const edge = ([a, b], isDirected) => ({
    ends: [a, b],
    heads: [false, isDirected],
    width: 2.2,
    classes: "plain" + (isDirected ? "" : " open") +
      (bestMark.get(keyOf(a, b)) === (isDirected ? `${a}>${b}` : "-") ? "" : " changed"),
    words: isDirected ? `${names[a]} → ${names[b]}.` : `${names[a]} — ${names[b]}, in either direction.`,
  });
  return [...found.directed.map((ends) => edge(ends, true)), ...found.undirected.map((ends) => edge(ends, false))];
}

function startClasses(drawn) {
  const viewer = byId("class-view"), rows = byId("class-table").tBodies[0].rows, { classes, names } = drawn;
  const view = new GraphView(viewer, names, drawn.layout);
  let at = 0;
  const go = (number) => {
    at = Math.max(0, Math.min(classes.length - 1, number));
    const found = classes[at];
    byId("class-number").textContent = `${at + 1} of ${classes.length}`;
    byId("class-words").textContent = `Class ${at + 1}: ${found.words}` +
      (at === 0 ? ". The best class." : `. Compared with the best: ${rows[at].lastElementChild.textContent}.`);
    byId("previous-class").disabled = at === 0;
    byId("next-class").disabled = at === classes.length - 1;
    view.show(classEdges(found, classes[0], names));
  };
  byId("previous-class").addEventListener("click", () => go(at - 1));
  byId("next-class").addEventListener("click", () => go(at + 1));
  viewer.addEventListener("keydown", (event) => {
    if (event.key !== "PageDown" && event.key !== "PageUp") return;
    event.preventDefault();
    const wasInside = document.activeElement.closest("svg") !== null;
    go(at + (event.key === "PageDown" ? 1 : -1));
    if (wasInside && view.edges.length) view.edges[0].group.focus(); // the edge that had the focus is gone
  });
  go(0);
}

// One cell of the heat map takes the focus; arrow keys move it, and its numbers are told.
function startHeatMap(table) {
  const readout = byId("cell-shown");
  readout.hidden = false;
  const children = [...table.tHead.rows[0].cells].map((cell) => cell.title);
  const tell = (cell) => {
    const value = cell.textContent || "0 %";
    readout.textContent = `${cell.parentNode.cells[0].title} → ${children[cell.cellIndex]}: ${value}`;
  };
  const cellOf = (event) => event.target.closest("tbody td");
  let current = table.tBodies[0].rows[0].cells[1];
  current.tabIndex = 0;
  const move = (cell) => {
    current.removeAttribute("tabindex");
    current = cell;
    current.tabIndex = 0;
  };
  table.addEventListener("pointerover", (event) => { const cell = cellOf(event); if (cell) tell(cell); });
  table.addEventListener("click", (event) => { const cell = cellOf(event); if (cell) { move(cell); tell(cell); } });
  table.addEventListener("focusin", (event) => { const cell = cellOf(event); if (cell) tell(cell); });
  table.addEventListener("keydown", (event) => {
    const cell = cellOf(event);
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!cell || !steps) return;
    event.preventDefault();
    const row = table.tBodies[0].rows[cell.parentNode.sectionRowIndex + steps[0]];
    const next = row && row.cells[cell.cellIndex + steps[1]];
    if (!next || next.cellIndex === 0) return;
    move(next);
    next.focus();
  });
}

// Each column head becomes a button; numbers sort by data-value, the largest first, names from A to Z.
function startSorting(table) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    const isNumber = head.classList.contains("number");
    button.addEventListener("click", () => {
      const first = isNumber ? "descending" : "ascending", second = isNumber ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", order);
      const key = (row) => isNumber ? Number(row.cells[column].dataset.value) : row.cells[column].textContent;
      const sign = order === "ascending" ? 1 : -1;
      const compare = isNumber ? (a, b) => a - b : (a, b) => a.localeCompare(b);
      body.append(...[...body.rows].sort((a, b) => sign * compare(key(a), key(b))));
    });
  });
}

(function start() {
  const drawn = JSON.parse(byId("drawn").textContent);
  for (const [viewer, startView] of [[byId("graph-view"), startGraph], [byId("class-view"), startClasses]]) {
    if (!viewer) continue;
    viewer.hidden = false;
    startView(drawn);
  }
  if (byId("heat-map")) startHeatMap(byId("heat-map"));
  for (const table of document.querySelectorAll("table.sortable")) startSorting(table);
})();
