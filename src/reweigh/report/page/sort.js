"use strict";
// A click or a key on a column's button sorts the rows by it; again, the other way around. Unknown cells stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    header.querySelector("button").addEventListener("click", () => {
      const descending = header.getAttribute("aria-sort") === "ascending";
      const numbers = header.classList.contains("n");
      const keyed = [...body.rows].map((row) => {
        const text = row.cells[column].textContent;
        return { row, key: text === "–" ? null : numbers ? parseFloat(text) : text };
      });
      keyed.sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
        const order = numbers ? a.key - b.key : a.key.localeCompare(b.key, undefined, { numeric: true });
        return descending ? -order : order;
      });
      body.append(...keyed.map(({ row }) => row));
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", descending ? "descending" : "ascending");
      document.getElementById("said").textContent =
        `sorted by ${header.textContent}, ${descending ? "descending" : "ascending"}`;
    });
  });
}
// Cards of one given or suggested label, or sorted by these.
for (const form of document.querySelectorAll("form.pick")) {
  const gallery = form.nextElementSibling;
  const cards = [...gallery.children];
  form.hidden = false;
  form.addEventListener("change", () => {
    const { given, suggested, order } = Object.fromEntries(new FormData(form));
    for (const card of cards) {
      card.hidden = Boolean((given && card.dataset.given !== given) || (suggested && card.dataset.suggested !== suggested));
    }
    gallery.append(...cards.toSorted((a, b) =>
      a.dataset[order].localeCompare(b.dataset[order], undefined, { numeric: true }) || a.dataset.place - b.dataset.place));
    document.getElementById("said").textContent = `${cards.filter((card) => !card.hidden).length} samples`;
  });
}
// Print everything, whether it is open or not.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
