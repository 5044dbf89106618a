"use strict";

// Lays out a graph once, and draws any choice of its edges in the same places.
//
// An edge to draw is {ends: [a, b], heads: [atA, atB], width, opacity, classes, words}: nodes by position, the size
// of the arrowhead at each end from 0 (none) to 1, and what is said when it is chosen. All text reaches the page by
// textContent or setAttribute, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const NODE_HEIGHT = 30;
const MARGIN = 12;
const MOST_LETTERS = 22;
const SMALLEST_SCALE = 0.5; // to start with: below it nobody can read the names, and the reader scrolls instead

function svgElement(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

function shortened(name) {
  const letters = Array.from(name);
  return letters.length <= MOST_LETTERS ? name : letters.slice(0, MOST_LETTERS - 1).join("") + "…";
}

function keyOf(a, b) {
  return a < b ? `${a}-${b}` : `${b}-${a}`;
}

// Returns {width, height, nodes: [{x, y, width, height, label, isAlone}], routes: Map from keyOf to points}.
// Nodes without an edge do not take part: they stand in lines below.
function layOut(names, edges, room) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "14px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  const nodes = names.map((name) => {
    const label = shortened(name);
    return { label, width: Math.max(44, Math.ceil(pen.measureText(label).width) + 22), height: NODE_HEIGHT };
  });
  const joined = new Set(edges.flatMap((edge) => edge.ends));
  const downward = runDagre(nodes, joined, edges, "TB");
  const fit = (found) => Math.min(1, room.width / found.width, room.height / found.height);
  let best = downward;
  if (fit(downward) < 0.8) {
    const across = runDagre(nodes, joined, edges, "LR");
    if (fit(across) > fit(downward)) best = across;
  }
  for (const [at, { x, y }] of best.places) Object.assign(nodes[at], { x, y });
  const bottom = placeAlone(nodes, joined, best, Math.max(best.width, room.width));
  return { ...bottom, nodes, routes: best.routes };
}

function runDagre(nodes, joined, edges, direction) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: direction, nodesep: 16, ranksep: 46, edgesep: 12 });
  for (const at of joined) graph.setNode(String(at), { width: nodes[at].width, height: nodes[at].height });
  for (const { ends, weight } of edges) graph.setEdge(String(ends[0]), String(ends[1]), { weight });
  if (joined.size) dagre.layout(graph);
  const routes = new Map();
  for (const { ends } of edges) {
    const { points } = graph.edge(String(ends[0]), String(ends[1]));
    routes.set(keyOf(...ends), ends[0] < ends[1] ? points : points.slice().reverse());
  }
  const places = new Map([...joined].map((at) => [at, { ...graph.node(String(at)) }]));
  return { places, routes, ...intoView([...places.values()], [...routes.values()].flat()) };
}

// Edges may bend out of the size that dagre tells: everything is moved to start at the margin, and measured.
function intoView(boxes, points) {
  if (!boxes.length) return { width: 1, height: 1 };
  const lefts = [...boxes.map(({ x, width }) => x - width / 2), ...points.map(({ x }) => x)];
  const tops = [...boxes.map(({ y, height }) => y - height / 2), ...points.map(({ y }) => y)];
  const rights = [...boxes.map(({ x, width }) => x + width / 2), ...points.map(({ x }) => x)];
  const bottoms = [...boxes.map(({ y, height }) => y + height / 2), ...points.map(({ y }) => y)];
  const left = Math.min(...lefts) - MARGIN, top = Math.min(...tops) - MARGIN;
  for (const placed of [...boxes, ...points]) {
    placed.x -= left;
    placed.y -= top;
  }
  return { width: Math.max(...rights) - left + MARGIN, height: Math.max(...bottoms) - top + MARGIN };
}

function placeAlone(nodes, joined, laid, room) {
  let x = 12, y = laid.height + 10, width = laid.width, height = laid.height;
  nodes.forEach((node, at) => {
    node.isAlone = !joined.has(at);
    if (!node.isAlone) return;
    if (x > 12 && x + node.width > room) { x = 12; y += NODE_HEIGHT + 8; }
    node.x = x + node.width / 2;
    node.y = y + NODE_HEIGHT / 2;
    x += node.width + 8;
    width = Math.max(width, x + 4);
    height = y + NODE_HEIGHT + 12;
  });
  return { width, height };
}

// A straight way between two boxes, for edges that the layout does not know.
function straight(from, to) {
  const along = { x: to.x - from.x, y: to.y - from.y };
  const border = (box, sign) => {
    const scale = Math.min(box.width / 2 / Math.abs(along.x || 1e-9), box.height / 2 / Math.abs(along.y || 1e-9));
    return { x: box.x + sign * along.x * scale, y: box.y + sign * along.y * scale };
  };
  return [border(from, 1), border(to, -1)];
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

function arrowhead(tip, before, size) {
  const length = 7 + 8 * size, half = 3 + 3.5 * size;
  const base = towards(tip, before, length);
  const across = { x: ((base.y - tip.y) * half) / length, y: ((tip.x - base.x) * half) / length };
  const corner = (sign) => spot({ x: base.x + sign * across.x, y: base.y + sign * across.y });
  return { base, path: `M${spot(tip)}L${corner(1)}L${corner(-1)}Z` };
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
    for (const button of viewer.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.zoom(button.dataset.zoom));
    }
    this.zoom("start");
  }

  zoom(how) {
    const across = (this.canvas.clientWidth - 2) / this.layout.width;
    const down = (0.85 * window.innerHeight - 2) / this.layout.height; // as high as the style sheet lets a canvas be
    if (how === "start") this.scale = Math.max(SMALLEST_SCALE, Math.min(1.15, across));
    else if (how === "fit") this.scale = Math.min(1.15, across, down);
    else this.scale = Math.max(0.2, Math.min(3, this.scale * (how === "in" ? 1.25 : 0.8)));
    this.svg.style.width = `${(this.layout.width * this.scale).toFixed(0)}px`;
    this.svg.style.height = `${(this.layout.height * this.scale).toFixed(0)}px`;
  }

  drawNode(node, at) {
    const group = svgElement("g", { class: node.isAlone ? "node alone" : "node" }, this.nodeLayer);
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
  }

  drawEdge(edge) {
    const [a, b] = edge.ends;
    const { nodes, routes } = this.layout;
    const known = routes.get(keyOf(a, b));
    let points = known ? (a < b ? known : known.slice().reverse()) : straight(nodes[a], nodes[b]);
    const group = svgElement("g", { class: "edge", role: "img", "aria-label": edge.words }, this.edgeLayer);
    points = points.slice();
    const last = points.length - 1, heads = [];
    for (const [size, tip, before] of [[edge.heads[0], 0, 1], [edge.heads[1], last, last - 1]]) {
      if (!size) continue;
      const head = arrowhead(points[tip], points[before], size);
      points[tip] = head.base;
      heads.push(head.path);
    }
    const path = smooth(points);
    svgElement("path", { class: "halo", d: path }, group);
    svgElement("path", { class: `line ${edge.classes}`, d: path, "stroke-width": edge.width, opacity: edge.opacity }, group);
    for (const d of heads) svgElement("path", { class: `head ${edge.classes}`, d, opacity: edge.opacity }, group);
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
