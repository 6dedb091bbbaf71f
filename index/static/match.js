// Wheels that fit a choice, and the nearest ones. This file touches no page.
"use strict";

// Cost of changing each axis, and of each step along it; what a person cannot change at once costs more.
const COST = { version: [4, 1], python: [10, 1], torch: [14, 2], cuda: [16, 3], driver: [20, 0], glibc: [20, 0], gpu: [30, 0], platform: [200, 0] };

// Whether a row fits a value that is chosen. A wheel that needs no torch fits every torch.
const FITS = {
  version: (row, { version }) => row.version === version,
  platform: (row, { platform }) => row.platform === "any" || row.platform === platform,
  cuda: (row, { cuda }) => !row.cudas || row.cudas.includes(cuda),
  torch: (row, { torch }) => !row.torches || row.torches.includes(torch),
  python: (row, { python }) => row.pythons.includes(python),
  gpu: (row, { gpu }) => codeFor(row, gpu) !== "",
  driver: hasDriver,
  glibc: (row, { glibc }) => !row.glibc || !isNewer(row.glibc, glibc),
};

// Wheels of the chosen projects; each project has its own script, which adds them.
const SCRIPTS = new Map();

function addWheels(project, data) {
  SCRIPTS.set(project, data);
}

class Wheels {
  constructor(data) {
    this.data = data;
    this.projects = new Map();
    this.versions = new Map();
    for (const [project, wheels] of Object.entries(data.wheels)) this.add(project, wheels);
  }

  lacking(project) {
    return [project, ...this.required(project)].filter((each) => this.data.projects.includes(each) && !this.projects.has(each));
  }

  // Loads the wheels of a project and of its requirements in this index.
  async load(project) {
    const lacking = this.lacking(project);
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
    this.versions.set(project, [...new Set(rows.map((row) => row.version))]);
  }

  of(project) {
    return this.projects.get(project) ?? [];
  }

  // Packages of this index that a package requires.
  required(project) {
    return valueOf(this.data.requires, project) ?? [];
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

  // Axes of a choice that a row does not fit. What is not chosen refuses no wheel.
  violated(row, choice) {
    return Object.keys(FITS).filter((axis) => choice[axis] && !FITS[axis](row, choice, this.data));
  }

  // The rows that fit, the newest version first; those whose label says for which CUDA they are before others.
  fitting(choice) {
    const chosen = Object.keys(FITS).filter((axis) => choice[axis]);
    const rows = this.of(choice.project).filter((row) => chosen.every((axis) => FITS[axis](row, choice, this.data)));
    return [...rows.filter((row) => row.cudas), ...rows.filter((row) => !row.cudas)];
  }

  // Splits the axes of the newest row that are not chosen: into those on which all rows agree, with their value, and
  // those to choose. The platform of a wheel for any decides where torch comes from.
  decide(rows, choice) {
    const agreed = {};
    const open = [];
    for (const axis of ["python", "platform", "cuda", "torch"]) {
      if (choice[axis] || !valuesOf(rows[0], axis).length) continue;
      const values = new Set(rows.flatMap((row) => valuesOf(row, axis)));
      const [value] = values;
      if (values.size > 1 || (value === "any" && rows[0].torches)) open.push(axis);
      else if (value !== "any") agreed[axis] = value;
    }
    return { agreed, open };
  }

  // Rows nearest to the choice, each with the axes that it does not fit, and the value of each that can be changed.
  // Rows that differ from the choice in the same way are one.
  nearest(choice, limit = 3) {
    const found = new Map();
    for (const row of this.of(choice.project)) {
      const violated = this.violated(row, choice);
      const changes = {};
      let cost = 0;
      for (const axis of violated) {
        const values = axis === "version" ? [row.version] : valuesOf(row, axis);
        if (values.length) changes[axis] = this.closest(axis, values, choice[axis]);
        cost += COST[axis][0] + COST[axis][1] * this.steps(axis, choice[axis], changes[axis], choice.project);
      }
      if (violated.length > 1 && violated.length > Object.keys(changes).length) cost += 100; // no change of these is enough
      const key = JSON.stringify([violated, changes, violated.includes("gpu") && [row.sass, row.ptx]]);
      if (!found.has(key) || found.get(key).cost > cost) found.set(key, { row, violated, changes, cost });
    }
    return [...found.values()].sort((a, b) => a.cost - b.cost).slice(0, limit);
  }

  closest(axis, values, chosen) {
    return [...values].sort((a, b) => this.steps(axis, a, chosen) - this.steps(axis, b, chosen))[0];
  }

  // How far apart two values are; free-threaded Pythons are far from the others.
  steps(axis, one, other, project) {
    const values = axis === "version" ? this.versions.get(project) : this.data[{ python: "pythons", cuda: "cudas", torch: "torches" }[axis]];
    if (!values) return 0;
    const [from, to] = [values.indexOf(one), values.indexOf(other)];
    const threads = axis === "python" && one.endsWith("t") !== other.endsWith("t") ? values.length : 0;
    return threads + (from < 0 || to < 0 ? values.length : Math.abs(from - to));
  }
}

// Values of an axis that a row is for; none where it is for all, or where the axis has no values to choose.
function valuesOf(row, axis) {
  return { python: row.pythons, platform: [row.platform], cuda: row.cudas, torch: row.torches }[axis] ?? [];
}

// Code of a wheel that runs on all of several GPUs ("8.0,9.0"): "machine code", "PTX", "unknown", or "" if none does.
function codeFor(row, gpus) {
  const kinds = gpus.split(",").map((gpu) => {
    const code = valueOf(row.runs, gpu);
    return code === undefined ? "unknown" : (code?.[0] ?? "");
  });
  return ["", "unknown", "PTX"].find((kind) => kinds.includes(kind)) ?? "machine code";
}

// Whether a driver runs a wheel: every CUDA up to the one that it names, and on Linux also those that need no newer one.
function hasDriver(row, choice, data) {
  const cuda = row.cuda ?? row.cudas?.[0];
  if (!cuda) return true;
  if (choice.driver_cuda && !isNewer(cuda, choice.driver_cuda)) return true;
  if (row.platform.startsWith("win")) return !choice.driver_cuda;
  const needed = driverFor(row, choice, data);
  return !needed || !isNewer(needed, choice.driver);
}

// The oldest Linux driver that runs the CUDA of a wheel, knows the GPU, and compiles the portable code where it must.
function driverFor(row, { gpu }, { drivers, gpu_drivers: ofGpus, ptx_drivers: ofPtx }) {
  const cuda = row.cuda ?? row.cudas?.[0];
  if (!cuda || row.platform.startsWith("win")) return null;
  const compiles = codeFor(row, gpu) === "PTX" ? ofPtx[cuda] : null;
  const needed = [drivers[cuda], ...gpu.split(",").map((each) => valueOf(ofGpus, each)), compiles].filter(Boolean);
  return needed.sort((one, other) => (isNewer(one, other) ? 1 : -1)).at(-1) ?? null;
}

function isNewer(one, other) {
  const [ours, theirs] = [one, other].map((text) => text.split(".").map(Number));
  const place = ours.findIndex((number, index) => number !== (theirs[index] ?? 0));
  return place >= 0 && ours[place] > (theirs[place] ?? 0);
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
