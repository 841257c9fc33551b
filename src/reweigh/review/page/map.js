"use strict";
// All samples as points of a plane. They are drawn once; dragging a rectangle draws over a copy, so 100,000 stay smooth.

const HUES = ["#1f77b4", "#e07b00", "#2a9d3a", "#d1495b", "#8a63d2", "#8c6d46", "#d65db1", "#6b7785", "#a3a500", "#00a5b5"];
const hue = (number) => number < HUES.length ? HUES[number] : `hsl(${(number * 137.5) % 360} 55% 50%)`;

class Plane {
  // chosen(indices): called with the samples in the rectangle that was drawn
  constructor(root, chosen) {
    this.canvas = root.querySelector("canvas");
    this.legend = root.querySelector("#legend");
    this.by = root.querySelector("select");
    this.chosen = chosen;
    this.picture = document.createElement("canvas");
    this.zoom = { x: 0, y: 0, size: 1 }; // the part of the plane that is shown
    this.drag = null;
    this.by.addEventListener("change", () => this.paint());
    new ResizeObserver(() => this.paint()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    this.canvas.addEventListener("pointerdown", (event) => { if (event.button === 0) { this.drag = [this.at(event), this.at(event)]; this.canvas.setPointerCapture(event.pointerId); } });
    this.canvas.addEventListener("pointermove", (event) => { if (this.drag) { this.drag[1] = this.at(event); this.show(); } });
    this.canvas.addEventListener("pointerup", () => this.release());
    this.canvas.addEventListener("pointercancel", () => { this.drag = null; this.show(); });
    this.canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.wheel(event); }, { passive: false });
    this.canvas.addEventListener("dblclick", () => { this.zoom = { x: 0, y: 0, size: 1 }; this.paint(); });
  }

  at(event) { const box = this.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; }

  // From the plane to pixels; the margin keeps points at the edge whole.
  place(k) {
    const { x, y, size } = this.zoom, margin = 8;
    return [margin + ((this.data.x[k] / 65535 - x) / size) * (this.width - 2 * margin), margin + ((1 - this.data.y[k] / 65535 - y) / size) * (this.height - 2 * margin)];
  }

  set(data) { this.data = data; this.paint(); }

  wheel(event) {
    const [px, py] = this.at(event), size = Math.min(1, Math.max(0.02, this.zoom.size * (event.deltaY > 0 ? 1.25 : 0.8)));
    const keep = (from, share) => Math.min(Math.max(from + share * (this.zoom.size - size), 0), 1 - size);
    this.zoom = { x: keep(this.zoom.x, px / this.width), y: keep(this.zoom.y, py / this.height), size };
    this.paint();
  }

  // The color of each sample, and the rows of the legend.
  colors() {
    const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
    const { given, doubt, family, issue, decided } = this.data;
    const by = this.by.value;
    if (by === "doubt") {
      const steps = [0, 25, 50, 75, 100].map((share) => `color-mix(in srgb, ${color("--wrong")} ${share}%, ${color("--line")})`);
      return [doubt.map((value) => steps[Math.min(4, Math.floor(value / 20))]), steps.map((each, step) => [each, ["label surely right", "", "in doubt", "", "label surely wrong"][step]]).filter(([, words]) => words)];
    }
    if (by === "looks") {
      const kinds = [[color("--line"), "looks right"], [color("--wrong"), "looks wrong"], [color("--good"), "decided by you"]];
      return [given.map((_, k) => kinds[decided[k] ? 2 : issue[k] ? 1 : 0][0]), kinds];
    }
    const number = by === "family" ? family : given, words = by === "family" ? (each) => "family " + (each + 1) : (each) => facts.classes[each];
    const present = [...new Set(number)].filter((each) => each >= 0).sort((a, b) => a - b);
    return [number.map((each) => each < 0 ? color("--line") : hue(each)), present.map((each) => [hue(each), words(each)])];
  }

  paint() {
    const ratio = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    if (!this.data || !this.width) return;
    for (const canvas of [this.canvas, this.picture]) { canvas.width = this.width * ratio; canvas.height = this.height * ratio; }
    const [colors, legend] = this.colors();
    const draw = this.picture.getContext("2d"), count = colors.length;
    draw.scale(ratio, ratio);
    const size = count > 20000 ? 2 : count > 3000 ? 3 : 5;
    const groups = new Map(); // by color, those that look wrong last, on top
    for (const late of [0, 1]) for (let k = 0; k < count; k += 1) {
      if (this.data.issue[k] !== late) continue;
      const key = late + colors[k];
      if (!groups.has(key)) groups.set(key, [colors[k], late, []]);
      groups.get(key)[2].push(k);
    }
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    for (const [fill, late, members] of groups.values()) {
      draw.fillStyle = fill;
      draw.strokeStyle = ink;
      for (const k of members) {
        const [left, top] = this.place(k), side = size + 2 * late;
        if (left < -9 || top < -9 || left > this.width + 9 || top > this.height + 9) continue;
        draw.fillRect(left - side / 2, top - side / 2, side, side);
        if (late && count <= 20000) draw.strokeRect(left - side / 2, top - side / 2, side, side);
      }
    }
    this.legend.replaceChildren(...legend.slice(0, 24).map(([fill, words]) => {
      const swatch = make("span", { class: "swatch" });
      swatch.style.background = fill;
      return make("li", {}, swatch, make("bdi", {}, words));
    }), ...(legend.length > 24 ? [make("li", {}, `and ${legend.length - 24} more`)] : []));
    this.show();
  }

  show() {
    const draw = this.canvas.getContext("2d");
    draw.setTransform(1, 0, 0, 1, 0, 0);
    draw.clearRect(0, 0, this.canvas.width, this.canvas.height);
    draw.drawImage(this.picture, 0, 0);
    if (!this.drag) return;
    const ratio = devicePixelRatio || 1, [[ax, ay], [bx, by]] = this.drag;
    draw.scale(ratio, ratio);
    draw.strokeStyle = draw.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
    draw.strokeRect(Math.min(ax, bx), Math.min(ay, by), Math.abs(ax - bx), Math.abs(ay - by));
    draw.globalAlpha = 0.15;
    draw.fillRect(Math.min(ax, bx), Math.min(ay, by), Math.abs(ax - bx), Math.abs(ay - by));
    draw.globalAlpha = 1;
  }

  release() {
    if (!this.drag) return;
    const [[ax, ay], [bx, by]] = this.drag;
    this.drag = null;
    this.show();
    if (Math.abs(ax - bx) < 4 && Math.abs(ay - by) < 4) return;
    const inside = [];
    for (let k = 0; k < this.data.x.length; k += 1) {
      const [left, top] = this.place(k);
      if ((left - ax) * (left - bx) <= 0 && (top - ay) * (top - by) <= 0) inside.push(this.data.index[k]);
    }
    this.chosen(inside);
  }
}
