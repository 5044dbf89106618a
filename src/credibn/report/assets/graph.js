"use strict";

// Draws any choice of the edges of a graph in the places that the page was written with.
//
// An edge to draw is {ends: [a, b], heads: [atA, atB], width, dashes, classes, words}: nodes by position, whether it has
// an arrowhead at each end, and what is said when it is chosen. All text reaches the page by textContent or
// setAttribute, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const SMALLEST_SCALE = 0.5; // to start with: below it nobody can read the names, and the reader scrolls instead

function svgElement(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

function keyOf(a, b) {
  return a < b ? `${a}-${b}` : `${b}-${a}`;
}

// The way of an edge from its first end to its second.
function wayOf(layout, [a, b]) {
  const points = layout.routes[keyOf(a, b)].map(([x, y]) => ({ x, y }));
  return a < b ? points : points.reverse();
}

function towards(from, to, distance) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return { x: from.x + ((to.x - from.x) * distance) / length, y: from.y + ((to.y - from.y) * distance) / length };
}

function spot(point) {
  return `${point.x.toFixed(1)} ${point.y.toFixed(1)}`;
}

// A smooth path through the points: curves between the middles of its legs.
function smooth(points) {
  if (points.length === 2) return `M${spot(points[0])}L${spot(points[1])}`;
  let path = `M${spot(points[0])}`;
  for (let at = 1; at < points.length - 1; at++) {
    const next = points[at + 1];
    const isLast = at === points.length - 2;
    const middle = { x: (points[at].x + next.x) / 2, y: (points[at].y + next.y) / 2 };
    path += `Q${spot(points[at])} ${spot(isLast ? next : middle)}`;
  }
  return path;
}

// Puts an arrowhead at the end of a way, as in the files that Python writes: returns its path, and shortens the way.
function headOf(points, width) {
  const length = 8 + 1.7 * width, half = 3.2 + 0.8 * width, tip = points[points.length - 1];
  const distance = (point) => Math.hypot(point.x - tip.x, point.y - tip.y);
  while (points.length > 2 && distance(points[points.length - 2]) < length) points.splice(-2, 1);
  const before = points[points.length - 2], base = towards(tip, before, length);
  const across = { x: ((base.y - tip.y) * half) / length, y: ((tip.x - base.x) * half) / length };
  const corner = (sign) => spot({ x: base.x + sign * across.x, y: base.y + sign * across.y });
  points[points.length - 1] = towards(tip, before, length - 1);
  return `M${spot(tip)}L${corner(1)}L${corner(-1)}Z`;
}

// What a file needs in place of the page's style sheet: the light colours.
const FILE_LOOKS = {
  ".line": { fill: "none" }, ".settled.line": { stroke: "#0a6aa6" }, ".open.line": { stroke: "#b84a00" },
  ".settled.head": { fill: "#0a6aa6" }, ".open.head": { fill: "#b84a00" },
  ".node rect": { fill: "#ffffff", stroke: "#57606a", "stroke-width": "1.2" },
  ".node text": { fill: "#1b1f24", "font-size": "14", "text-anchor": "middle", "dominant-baseline": "central",
    "font-family": "Helvetica, Arial, DejaVu Sans, sans-serif" },
};

// The text of an SVG file with what a drawing shows now.
function svgFile(svg) {
  const copy = svg.cloneNode(true);
  copy.removeAttribute("style");
  for (const gone of copy.querySelectorAll(".hit, .halo, [hidden]")) gone.remove();
  for (const [selector, attributes] of Object.entries(FILE_LOOKS)) {
    for (const part of copy.querySelectorAll(selector)) {
      for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
    }
  }
  const { x, y, width, height } = svg.viewBox.baseVal;
  const paper = svgElement("rect", { x, y, width, height, fill: "#ffffff" });
  copy.prepend(paper);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return new XMLSerializer().serializeToString(copy);
}

function save(url, name) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

function saveSvg(svg, name) {
  const url = URL.createObjectURL(new Blob([svgFile(svg)], { type: "image/svg+xml" }));
  save(url, `${name}.svg`);
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// The same picture in dots, three for each unit, for where no SVG is taken.
function savePng(svg, name) {
  const picture = new Image(), { width, height } = svg.viewBox.baseVal;
  const scale = Math.min(3, 8000 / Math.max(width, height));
  picture.addEventListener("load", () => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(scale * width);
    canvas.height = Math.round(scale * height);
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    save(canvas.toDataURL("image/png"), `${name}.png`);
  });
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgFile(svg))}`;
}

// A drawing inside a viewer: `show(edges)` draws them; hover, tap, focus and arrow keys tell their words.
class GraphView {
  constructor(viewer, names, layout) {
    this.canvas = viewer.querySelector(".canvas");
    this.readout = viewer.querySelector(".readout");
    this.names = names;
    this.layout = layout;
    this.svg = svgElement("svg", { viewBox: `0 0 ${layout.width} ${layout.height}` }, this.canvas);
    this.edgeLayer = svgElement("g", {}, this.svg);
    this.nodeLayer = svgElement("g", {}, this.svg);
    this.nodes = layout.nodes.map((node, at) => this.drawNode(node, at));
    this.edges = [];
    this.svg.addEventListener("keydown", (event) => this.moveFocus(event));
    this.svg.addEventListener("pointerleave", () => this.choose(null));
    for (const button of viewer.querySelectorAll("[data-save]")) {
      const saveAs = button.dataset.save === "svg" ? saveSvg : savePng;
      button.addEventListener("click", () => saveAs(this.svg, "graph"));
    }
    this.view = { x: 0, y: 0, width: layout.width, height: layout.height };
    for (const button of viewer.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.zoom(button.dataset.zoom));
    }
    this.zoom("start");
  }

  zoom(how) {
    const { width, height } = this.view;
    const across = (this.canvas.clientWidth - 2) / width;
    const down = (0.85 * window.innerHeight - 2) / height; // as high as the style sheet lets a canvas be
    if (how === "start") this.scale = Math.max(SMALLEST_SCALE, Math.min(1.15, across));
    else if (how === "fit") this.scale = Math.min(1.15, across, down);
    else this.scale = Math.max(0.2, Math.min(3, this.scale * (how === "in" ? 1.25 : 0.8)));
    this.svg.style.width = `${(width * this.scale).toFixed(0)}px`;
    this.svg.style.height = `${(height * this.scale).toFixed(0)}px`;
  }

  // Shows these nodes and the edges between them alone, as large as the names need; null shows all.
  restrict(nodes) {
    this.shownNodes = nodes;
    this.nodes.forEach((group, at) => group.toggleAttribute("hidden", Boolean(nodes && !nodes.has(at))));
    this.hideEdges();
    const { width, height } = this.layout;
    this.view = { x: 0, y: 0, width, height };
    if (nodes) {
      const boxes = this.layout.nodes.filter((_, at) => nodes.has(at));
      const points = this.edges.filter((edge) => !edge.group.hasAttribute("hidden"))
        .flatMap(({ ends }) => wayOf(this.layout, ends));
      const lows = (of, half) => Math.min(...boxes.map((box) => box[of] - box[half] / 2), ...points.map((p) => p[of]));
      const highs = (of, half) => Math.max(...boxes.map((box) => box[of] + box[half] / 2), ...points.map((p) => p[of]));
      const x = lows("x", "width") - 14, y = lows("y", "height") - 14;
      this.view = { x, y, width: highs("x", "width") + 14 - x, height: highs("y", "height") + 14 - y };
    }
    const view = this.view;
    this.svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    this.zoom("start");
  }

  hideEdges() {
    const nodes = this.shownNodes;
    for (const { ends, group } of this.edges) group.toggleAttribute("hidden", Boolean(nodes && !ends.every((end) => nodes.has(end))));
  }

  // The nodes within some steps of one, along the edges that are drawn.
  near(node, steps) {
    let reached = new Set([node]);
    for (let step = 0; step < steps; step++) {
      const touched = this.edges.filter(({ ends }) => ends.some((end) => reached.has(end)));
      reached = new Set([...reached, ...touched.flatMap(({ ends }) => ends)]);
    }
    return reached;
  }

  // Brings a node into the middle of the canvas, and marks it.
  centre(node) {
    const { x, y } = this.layout.nodes[node];
    this.canvas.scrollTo((x - this.view.x) * this.scale - this.canvas.clientWidth / 2,
      (y - this.view.y) * this.scale - this.canvas.clientHeight / 2);
    this.choose({ node });
  }

  drawNode(node, at) {
    const group = svgElement("g", { class: "node" }, this.nodeLayer);
    svgElement("title", {}, group).textContent = this.names[at];
    const { width, height } = node;
    svgElement("rect", { x: node.x - width / 2, y: node.y - height / 2, width, height, rx: 8 }, group);
    svgElement("text", { x: node.x, y: node.y }, group).textContent = node.label;
    for (const event of ["pointerenter", "click"]) group.addEventListener(event, () => this.choose({ node: at }));
    return group;
  }

  show(edges) {
    this.edgeLayer.replaceChildren();
    this.edges = edges.map((edge) => ({ ...edge, group: this.drawEdge(edge) }));
    this.edges.forEach((edge, at) => {
      edge.group.setAttribute("tabindex", at === 0 ? "0" : "-1");
      for (const event of ["pointerenter", "click", "focus"]) {
        edge.group.addEventListener(event, () => this.choose({ edge }));
      }
    });
    if (this.shownNodes) this.hideEdges();
  }

  drawEdge(edge) {
    const points = wayOf(this.layout, edge.ends), heads = [];
    const group = svgElement("g", { class: "edge", role: "img", "aria-label": edge.words }, this.edgeLayer);
    if (edge.heads[1]) heads.push(headOf(points, edge.width));
    if (edge.heads[0]) {
      points.reverse();
      heads.push(headOf(points, edge.width));
    }
    const path = smooth(points);
    svgElement("path", { class: "halo", d: path }, group);
    const line = svgElement("path", { class: `line ${edge.classes}`, d: path, "stroke-width": edge.width }, group);
    if (edge.dashes) line.setAttribute("stroke-dasharray", edge.dashes);
    for (const d of heads) svgElement("path", { class: `head ${edge.classes}`, d }, group);
    svgElement("path", { class: "hit", d: path }, group);
    return group;
  }

  // Marks an edge or a node with its edges, and tells their numbers; null goes back to normal.
  choose(what) {
    const touches = (edge) => !what || (what.edge ? edge === what.edge : edge.ends.includes(what.node));
    const near = new Set(what && what.node !== undefined ? [what.node] : []);
    for (const edge of this.edges) {
      edge.group.classList.toggle("faded", !touches(edge));
      edge.group.classList.toggle("chosen", Boolean(what && what.edge === edge));
      if (what && touches(edge)) edge.ends.forEach((end) => near.add(end));
    }
    this.nodes.forEach((group, at) => group.classList.toggle("chosen", near.has(at)));
    if (!what) return;
    if (what.edge) this.readout.textContent = what.edge.words;
    else {
      const told = this.edges.filter(touches).map((edge) => edge.words);
      this.readout.textContent = `${this.names[what.node]}: ${told.join(" ") || "no edge is shown."}`;
    }
  }

  moveFocus(event) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const at = this.edges.findIndex((edge) => edge.group === document.activeElement);
    if (at < 0) return;
    let next;
    if (event.key in steps) next = (at + steps[event.key] + this.edges.length) % this.edges.length;
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = this.edges.length - 1;
    else return;
    event.preventDefault();
    this.edges[at].group.setAttribute("tabindex", "-1");
    this.edges[next].group.setAttribute("tabindex", "0");
    this.edges[next].group.focus();
  }
}
