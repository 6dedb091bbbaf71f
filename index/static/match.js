// Wheels that fit a choice, and the nearest ones. This file touches no page.
"use strict";

// Cost of changing each axis, and of each step along it.
const COST = { version: [4, 1], python: [10, 1], torch: [14, 2], cuda: [16, 3], platform: [200, 0] };

// Wheels of the chosen projects; each project has its own script, which adds them.
const SCRIPTS = new Map();

function addWheels(project, data) {
  SCRIPTS.set(project, data);
}

class Wheels {
  constructor(data) {
    this.data = data;
    this.projects = new Map();
    for (const [project, wheels] of Object.entries(data.wheels)) this.add(project, wheels);
  }

  // Loads the wheels of a project and of its requirements in this index.
  async load(project) {
    const lacking = [project, ...this.required(project)].filter((each) => this.data.projects.includes(each) && !this.projects.has(each));
    await Promise.all(lacking.map((each) => load(`packages/${encodeURIComponent(each)}/wheels.js`)));
    for (const each of lacking) this.add(each, SCRIPTS.get(each));
  }

  add(project, data) {
    const rows = data.rows.map(([version, exact, cuda, torch, platform, code, dependencies, pythons]) => ({
      project,
      version: data.versions[version],
      exactVersion: data.exact_versions[exact],
      cuda: typeof cuda === "number" ? (data.cudas[cuda] ?? null) : null,
      cudas: cuda < 0 ? null : [cuda].flat().map((number) => data.cudas[number]),
      torches: torch < 0 ? null : [torch].flat().map((number) => data.torches[number]),
      anyTorch: Array.isArray(torch),
      platform: data.platforms[platform][0],
      glibc: data.platforms[platform][1],
      ...data.code[code],
      pythons: pythons.map((number) => data.pythons[number]),
      dependencies: data.dependencies[dependencies],
    }));
    this.projects.set(project, rows);
  }

  of(project) {
    return this.projects.get(project) ?? [];
  }

  // Packages of this index that a package requires.
  required(project) {
    return this.data.requires[project] ?? [];
  }

  // Newest wheel of each that fits the choice, if there is one.
  beside(row, choice) {
    return this.required(row.project).flatMap((project) => this.fitting({ ...choice, project, version: "" }).slice(0, 1));
  }

  // Torch and its index, where the package index has it for another CUDA than the wheels of the choice.
  torchFor(row, choice) {
    const built = [row, ...this.beside(row, choice)].some((each) => each.cudas && each.torches);
    return (built && valueOf(this.data.torch_sources, `${choice.platform} ${choice.cuda} ${choice.torch}`)) || null;
  }

  // Whether the package index has all of these, each from the same home: only then may an installer look in both.
  areShared(projects) {
    return projects.every((project) => this.data.elsewhere[project] === "same");
  }

  // The rows that fit, the newest version first; those whose label says for which CUDA they are before others.
  fitting(choice) {
    const rows = this.of(choice.project).filter((row) => differences(row, choice).length === 0 && codeFor(row, choice.gpu) !== "");
    return [...rows.filter((row) => row.cudas), ...rows.filter((row) => !row.cudas)];
  }

  // Wheels nearest to the choice: what to change, and to what.
  nearest(choice, limit = 3) {
    const found = new Map();
    for (const row of this.of(choice.project).filter((row) => codeFor(row, choice.gpu) !== "")) {
      const changes = {};
      let cost = 0;
      for (const axis of differences(row, choice)) {
        const several = { python: row.pythons, torch: row.torches, cuda: row.cudas }[axis];
        changes[axis] = several ? this.closest(axis, several, choice[axis]) : row[axis];
        cost += COST[axis][0] + COST[axis][1] * this.steps(axis, choice[axis], changes[axis], choice.project);
      }
      const key = JSON.stringify(changes);
      if (!found.has(key) || found.get(key).cost > cost) found.set(key, { changes, cost });
    }
    return [...found.values()].sort((a, b) => a.cost - b.cost).slice(0, limit).map(({ changes }) => changes);
  }

  closest(axis, values, chosen) {
    return [...values].sort((a, b) => this.steps(axis, a, chosen) - this.steps(axis, b, chosen))[0];
  }

  // How far apart two values are; free-threaded Pythons are far from the others.
  steps(axis, one, other, project) {
    const values = axis === "version" ? [...new Set(this.of(project).map((row) => row.version))] : this.data[{ python: "pythons", cuda: "cudas", torch: "torches" }[axis]];
    if (!values) return 0;
    const [from, to] = [values.indexOf(one), values.indexOf(other)];
    const threads = axis === "python" && one.endsWith("t") !== other.endsWith("t") ? values.length : 0;
    return threads + (from < 0 || to < 0 ? values.length : Math.abs(from - to));
  }
}

// Axes in which a row differs from the choice. A wheel that needs no torch fits every torch.
function differences(row, choice) {
  const axes = [];
  if (choice.version && row.version !== choice.version) axes.push("version");
  if (row.platform !== "any" && row.platform !== choice.platform) axes.push("platform");
  if (row.cudas && !row.cudas.includes(choice.cuda)) axes.push("cuda");
  if (row.torches && !row.torches.includes(choice.torch)) axes.push("torch");
  if (choice.python && !row.pythons.includes(choice.python)) axes.push("python");
  return axes;
}

// Code of a wheel for a GPU: "machine code", "PTX", "unknown", or "" if it does not run there.
function codeFor(row, gpu) {
  const found = valueOf(row.runs, gpu);
  return found === undefined ? "unknown" : (found?.[0] ?? "");
}

// Entry of a table under a name from outside.
function valueOf(table, name) {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function tagOf(cuda) {
  return `cu${cuda.replace(".", "")}`;
}

// Index that lists a wheel for a torch, below the root of the site.
function treeOf(row, torch) {
  if (row.cuda === null) return "simple/";
  return row.torches ? `${tagOf(row.cuda)}/torch${torch}/simple/` : `${tagOf(row.cuda)}/simple/`;
}
