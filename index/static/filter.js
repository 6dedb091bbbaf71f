// Filters for the tables of wheels, and links to versions on other pages.
"use strict";

const FILTERS = { platform: "System", python: "Python", cuda: "CUDA", torch: "torch" };

class Filter {
  constructor(place) {
    this.tables = [...document.querySelectorAll(".coverage[data-platform]")];
    this.rows = this.tables.flatMap((table) => [...table.querySelectorAll("tbody tr")].map((row) => this.read(table, row)));
    this.fields = Object.keys(FILTERS).map((name) => this.field(name)).filter((field) => field.options.length > 2);
    if (!this.fields.length) return;
    this.count = document.createElement("p");
    this.count.setAttribute("role", "status");
    place.append(...this.fields.map((field) => field.closest("label")), this.count);
    place.addEventListener("change", () => this.apply());
  }

  // Target of a row; without a torch any will do. Its Pythons are those of its links.
  read(table, row) {
    const pythons = [...table.querySelectorAll("th[data-python]")].map((head) => head.dataset.python);
    const cells = [...row.querySelectorAll("td:not(.size)")];
    return {
      row,
      platform: [table.dataset.platform],
      cuda: [row.dataset.cuda],
      torch: row.dataset.torch ? row.dataset.torch.split(" ") : null,
      python: pythons.length ? pythons.filter((_, number) => cells[number].querySelector("a")) : null,
    };
  }

  field(name) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    const values = [...new Set(this.rows.flatMap((row) => row[name] ?? []))].sort(compare);
    select.name = name;
    select.append(new Option("any", ""), ...values.map((value) => new Option(this.titleOf(name, value), value)));
    label.append(FILTERS[name], select);
    return select;
  }

  titleOf(name, value) {
    if (name !== "platform") return value;
    return this.tables.find((table) => table.dataset.platform === value).querySelector("caption b").textContent;
  }

  apply() {
    const wanted = this.fields.filter((field) => field.value);
    let left = 0;
    for (const each of this.rows) {
      const fits = wanted.every((field) => each[field.name]?.includes(field.value) ?? true);
      const hasWheel = each.row.querySelector("a") !== null;
      each.row.classList.toggle("out", !fits);
      left += fits && hasWheel ? 1 : 0;
    }
    for (const body of document.querySelectorAll(".coverage tbody")) this.span(body);
    for (const part of document.querySelectorAll(".coverage, .grids, section:has(> .grids)")) {
      part.classList.toggle("out", wanted.length > 0 && !part.querySelector("tbody tr:not(.out)"));
    }
    this.count.textContent = wanted.length ? `${left || "No"} row${left === 1 ? "" : "s"} with wheels on this page` : "";
  }

  // The first remaining row of a group shows its torch.
  span(body) {
    const rows = [...body.rows];
    const head = body.querySelector("[rowspan]");
    const left = rows.filter((row) => !row.classList.contains("out"));
    if (!head || !left.length) return;
    left[0].prepend(head);
    head.rowSpan = left.length;
  }
}

// 3.9 before 3.10, Linux before Windows.
function compare(one, other) {
  return one.localeCompare(other, "en", { numeric: true });
}

// A version keeps its address after newer ones have moved it to another page.
function follow() {
  const there = document.getElementById(named());
  if (there?.matches(".contents li")) location.replace(there.querySelector("a").href);
}

new Filter(document.querySelector(".filter"));
if (document.querySelector(".contents")) {
  addEventListener("hashchange", follow);
  follow();
}
