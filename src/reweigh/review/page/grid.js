"use strict";
// A wall of samples in groups. Only tiles near the screen exist, so that 50,000 samples scroll like 50.

class Wall {
  // root: scrolls; tile(index) -> content of a tile; open(index); changed() after each change of the selection
  constructor(root, { fill, title, open, changed }) {
    Object.assign(this, { root, fill, title, open, changed });
    this.area = root.querySelector("#area");
    this.band = make("div", { id: "band", hidden: "" });
    this.selected = new Set();
    this.groups = [];
    this.order = [];
    this.at = new Map(); // index -> its position in order
    this.elements = new Map(); // key -> element on the page
    this.focus = null; // index of the tile that keys act on
    this.anchor = null; // where a range begins
    this.width = innerWidth < 500 ? 110 : 150;
    this.drag = null;
    root.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.layout()).observe(root);
    this.area.addEventListener("click", (event) => this.click(event));
    this.area.addEventListener("dblclick", (event) => this.on(event, (index) => this.open(index)));
    this.area.addEventListener("focusin", (event) => this.on(event, (index) => { this.focus = index; this.roving(); }));
    this.area.addEventListener("pointerdown", (event) => this.press(event));
    this.area.addEventListener("dragstart", (event) => event.preventDefault());
    for (const kind of ["pointermove", "pointerup", "pointercancel"]) addEventListener(kind, (event) => this.pull(event));
  }

  // keep: index that gets the focus if the last one is gone; known: the tiles that are there stay as they are
  set(groups, keep = null, known = false) {
    this.groups = groups;
    this.order = groups.flatMap((group) => group.index);
    this.at = new Map(this.order.map((index, place) => [index, place]));
    this.selected = new Set([...this.selected].filter((index) => this.at.has(index)));
    if (!this.at.has(this.focus)) this.focus = this.at.has(keep) ? keep : this.order[0] ?? null;
    if (!this.at.has(this.anchor)) this.anchor = this.focus;
    for (const [key, element] of this.elements) {
      if (known && this.at.has(key)) continue;
      element.remove();
      this.elements.delete(key);
    }
    this.layout();
    this.changed();
  }

  // What is decided leaves the wall; the next tile gets the focus.
  remove(gone) {
    const last = Math.max(...gone.map((index) => this.at.get(index) ?? -1));
    const out = new Set(gone);
    const next = this.order.slice(last + 1).find((index) => !out.has(index)) ?? this.order.filter((index) => !out.has(index)).pop();
    const had = this.area.contains(document.activeElement);
    const groups = this.groups.map((group) => ({ ...group, index: group.index.filter((index) => !out.has(index)) }));
    this.selected.clear();
    this.focus = this.anchor = next ?? null;
    this.set(groups.filter((group) => group.index.length), null, true);
    if (had) this.go(this.focus);
    else this.show(this.focus);
  }

  // Small groups share a row; a large one has rows of its own.
  layout() {
    const style = getComputedStyle(this.root);
    const width = this.root.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (width <= 0) return;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    this.gap = 8;
    this.columns = Math.max(2, Math.floor((width + this.gap) / (this.width + this.gap)));
    this.cell = (width - (this.columns - 1) * this.gap) / this.columns;
    this.height = (facts.images ? this.cell : 7 * rem) + 1.9 * rem;
    this.head = this.groups.length > 1 || this.groups[0]?.pair ? 2.2 * rem : 0;
    let top = 0, column = 0, place = 0;
    for (const group of this.groups) {
      const count = group.index.length;
      const span = Math.min(this.columns, Math.max(count, 2));
      if (column && column + span > this.columns) { top += this.head + this.height + this.gap; column = 0; }
      Object.assign(group, { top, column, place, rows: Math.ceil(count / (this.columns - column)), span });
      place += count;
      column += span;
      if (group.rows > 1) { top += this.head + group.rows * (this.height + this.gap) + this.gap; column = 0; }
      else if (column >= this.columns) { top += this.head + this.height + this.gap; column = 0; }
    }
    if (column) top += this.head + this.height;
    this.area.style.height = top + "px";
    this.draw();
  }

  box(group, k) {
    const row = Math.floor(k / this.columns), column = group.column + (k % this.columns);
    return { left: column * (this.cell + this.gap), top: group.top + this.head + row * (this.height + this.gap) };
  }

  groupOf(index) {
    const place = this.at.get(index);
    let low = 0, high = this.groups.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.groups[middle].place <= place) low = middle; else high = middle - 1;
    }
    return this.groups[low];
  }

  boxOf(index) {
    const group = this.groupOf(index);
    return this.box(group, this.at.get(index) - group.place);
  }

  // The tiles whose boxes meet a stripe of the wall.
  * between(top, bottom) {
    for (const group of this.groups) {
      if (group.top > bottom) return;
      const step = this.height + this.gap;
      if (group.top + this.head + group.rows * step < top) continue;
      const first = Math.max(0, Math.floor((top - group.top - this.head) / step)) * this.columns;
      const last = Math.min(group.index.length, (Math.floor((bottom - group.top - this.head) / step) + 1) * this.columns);
      yield [group, null];
      for (let k = first; k < last; k += 1) yield [group, k];
    }
  }

  draw() {
    if (!this.columns || this.area.offsetParent === null) return;
    const offset = this.area.offsetTop - this.root.offsetTop;
    const top = this.root.scrollTop - offset, seen = this.root.clientHeight;
    const wanted = new Map();
    for (const [group, k] of this.between(top - seen / 2, top + seen * 1.5)) wanted.set(k === null ? group : group.index[k], [group, k]);
    if (this.focus !== null && !wanted.has(this.focus)) { // the focus is never lost
      const group = this.groupOf(this.focus);
      wanted.set(this.focus, [group, this.at.get(this.focus) - group.place]);
    }
    for (const [key, element] of this.elements) {
      if (wanted.has(key)) continue;
      element.querySelector("img")?.removeAttribute("src"); // do not load what nobody looks at
      element.remove();
      this.elements.delete(key);
    }
    let before = null;
    for (const [key, [group, k]] of wanted) {
      if (k === null && !this.head) continue;
      let element = this.elements.get(key);
      if (!element) {
        element = k === null ? this.header(group) : this.tile(key);
        this.elements.set(key, element);
        if (before) before.after(element); else this.area.prepend(element);
      }
      before = element;
      const { left, top: y } = k === null ? { left: group.column * (this.cell + this.gap), top: group.top } : this.box(group, k);
      const width = k === null ? group.span * (this.cell + this.gap) - this.gap : this.cell;
      Object.assign(element.style, { transform: `translate(${left}px, ${y}px)`, width: width + "px", height: (k === null ? this.head : this.height) + "px" });
    }
    this.roving();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.fill([...this.elements].filter(([key]) => typeof key === "number")), 40);
  }

  header(group) {
    const button = make("button", { type: "button", class: "pick", title: "Select this group" }, ...this.title(group));
    button.addEventListener("click", () => this.pick(group.index));
    return make("h2", { class: "head" }, button);
  }

  tile(index) {
    const tile = make("button", { type: "button", class: "tile", "data-index": index, "aria-pressed": this.selected.has(index), "aria-label": "sample " + index, tabindex: -1 });
    return tile;
  }

  roving() {
    for (const [key, element] of this.elements) if (typeof key === "number") element.tabIndex = key === this.focus ? 0 : -1;
  }

  marked() {
    for (const [key, element] of this.elements) if (typeof key === "number") element.setAttribute("aria-pressed", this.selected.has(key));
    this.changed();
  }

  // All of them, or none if all were selected.
  pick(indices) {
    const all = indices.every((index) => this.selected.has(index));
    for (const index of indices) if (all) this.selected.delete(index); else this.selected.add(index);
    this.marked();
  }

  range(index) {
    const [from, to] = [this.at.get(this.anchor) ?? 0, this.at.get(index)].sort((a, b) => a - b);
    for (const each of this.order.slice(from, to + 1)) this.selected.add(each);
    this.marked();
  }

  clear() { this.selected.clear(); this.marked(); }

  targets() { return this.selected.size ? this.order.filter((index) => this.selected.has(index)) : this.focus === null ? [] : [this.focus]; }

  on(event, work) {
    const tile = event.target.closest(".tile");
    if (tile) work(Number(tile.dataset.index));
  }

  click(event) {
    if (this.dragged) { this.dragged = false; return; }
    this.on(event, (index) => {
      if (event.shiftKey) this.range(index);
      else { this.anchor = index; this.pick([index]); }
      this.focus = index;
      this.roving();
    });
  }

  show(index) {
    if (index === null || !this.at.has(index)) return;
    const { top } = this.boxOf(index), offset = this.area.offsetTop - this.root.offsetTop;
    const y = top + offset, seen = this.root.clientHeight;
    if (y - this.head < this.root.scrollTop) this.root.scrollTop = y - this.head - this.gap;
    else if (y + this.height > this.root.scrollTop + seen) this.root.scrollTop = y + this.height + this.gap - seen;
    this.draw();
  }

  go(index) {
    if (index === null || index === undefined) return;
    this.focus = index;
    this.show(index);
    this.elements.get(index)?.focus({ preventScroll: true });
  }

  key(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: "up", ArrowDown: "down", Home: "first", End: "last" };
    const move = moves[event.key];
    if (move === undefined || !this.order.length) return false;
    const place = this.at.get(this.focus) ?? 0;
    let next = this.focus;
    if (move === "first" || move === "last") next = this.order[move === "first" ? 0 : this.order.length - 1];
    else if (typeof move === "number") next = this.order[Math.min(Math.max(place + move, 0), this.order.length - 1)];
    else next = this.above(move === "up" ? -1 : 1);
    if (event.shiftKey) this.range(next); else this.anchor = next;
    this.go(next);
    return true;
  }

  above(direction) {
    const from = this.boxOf(this.focus);
    let best = this.focus, bestCost = Infinity;
    const reach = 3 * (this.height + this.head + this.gap);
    for (const [group, k] of this.between(from.top - reach, from.top + reach)) {
      if (k === null) continue;
      const box = this.box(group, k), down = (box.top - from.top) * direction;
      if (down < this.height / 2) continue;
      const cost = down * 100 + Math.abs(box.left - from.left);
      if (cost < bestCost) [best, bestCost] = [group.index[k], cost];
    }
    return best;
  }

  // Drag a rectangle with the mouse; with shift or ctrl it adds to the selection.
  press(event) {
    if (event.pointerType === "touch" || event.button !== 0) return;
    const at = this.point(event);
    this.drag = { from: at, to: at, before: event.shiftKey || event.ctrlKey || event.metaKey ? new Set(this.selected) : new Set(), far: false };
    this.dragged = false;
  }

  point(event) {
    const box = this.area.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  pull(event) {
    const drag = this.drag;
    if (!drag) return;
    if (event.type !== "pointermove") {
      this.drag = null;
      this.band.hidden = true;
      if (drag.far) { this.dragged = event.type === "pointerup"; setTimeout(() => { this.dragged = false; }); this.marked(); }
      return;
    }
    const edge = this.root.getBoundingClientRect();
    if (drag.far && event.clientY > edge.bottom - 30) this.root.scrollTop += 30;
    if (drag.far && event.clientY < edge.top + 30) this.root.scrollTop -= 30;
    drag.to = this.point(event);
    drag.far ||= Math.hypot(drag.to.x - drag.from.x, drag.to.y - drag.from.y) > 6;
    if (!drag.far) return;
    event.preventDefault();
    const [left, right] = [drag.from.x, drag.to.x].sort((a, b) => a - b), [top, bottom] = [drag.from.y, drag.to.y].sort((a, b) => a - b);
    if (!this.band.isConnected) this.area.append(this.band);
    this.band.hidden = false;
    Object.assign(this.band.style, { left: left + "px", top: top + "px", width: right - left + "px", height: bottom - top + "px" });
    this.selected = new Set(drag.before);
    for (const [group, k] of this.between(top, bottom)) {
      if (k === null) continue;
      const box = this.box(group, k);
      if (box.left < right && box.left + this.cell > left && box.top < bottom && box.top + this.height > top) this.selected.add(group.index[k]);
    }
    this.marked();
  }

  zoom(by) {
    this.width = Math.min(Math.max(this.width * by, 70), 420);
    this.layout();
    this.show(this.focus);
  }
}
