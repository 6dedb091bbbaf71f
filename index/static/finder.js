// The wheel finder: the address holds the choice, so a link leads back to the same answer.
"use strict";

const AXES = ["version", "python", "cuda", "torch"];
const NAMES = { python: "Python", cuda: "CUDA", torch: "torch", version: "version" };
const FIELDS = ["project", ...AXES, "platform", "gpu", "pin"];

class Finder {
  constructor(section, wheels) {
    this.section = section;
    this.wheels = wheels;
    this.form = section.querySelector("#choices");
    this.verdict = section.querySelector(".verdict");
    this.answer = section.querySelector("#answer");
    this.root = plainAddress("./");
    this.fill("project", wheels.data.projects);
    this.fill("python", wheels.data.pythons);
    this.fill("cuda", [...wheels.data.cudas].reverse());
    this.fill("torch", [...wheels.data.torches].reverse());
    this.form.addEventListener("change", (event) => this.onChange(event.target.name));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", () => this.given.size && this.read());
    this.read();
    section.hidden = false;
  }

  field(name) {
    return this.form.elements[name];
  }

  fill(name, values) {
    this.field(name).replaceChildren(...values.map((value) => new Option(value, value)));
  }

  set(name, value) {
    const field = this.field(name);
    if (name === "pin") {
      field.checked = value === "exact";
      return;
    }
    if (![...field.options].some((option) => option.value === value)) field.add(new Option(value, value));
    field.value = value;
  }

  get choice() {
    return { version: "", pin: "", ...Object.fromEntries(new FormData(this.form)) };
  }

  // Choice in the address; none if the address names a part of the page.
  get given() {
    const state = new URLSearchParams(location.hash.slice(1));
    return new Map([...state].filter(([name]) => FIELDS.includes(name)));
  }

  // The address decides; for the rest, the newest wheel.
  async read() {
    const given = this.given;
    if (given.has("project")) this.set("project", given.get("project"));
    if (!(await this.load())) return;
    this.defaults();
    for (const name of FIELDS) if (given.has(name)) this.set(name, given.get(name));
    this.show();
  }

  // True once the wheels of the chosen project are loaded, while it is still chosen.
  async load() {
    const { project } = this.choice;
    try {
      await this.wheels.load(project);
    } catch (error) {
      this.verdict.textContent = error.message;
      return false;
    }
    return project === this.choice.project;
  }

  defaults() {
    const rows = this.wheels.of(this.field("project").value);
    this.fill("version", [...new Set(rows.map((row) => row.version))]);
    const newest = rows[0];
    if (!newest) return;
    if (newest.cuda) this.set("cuda", newest.cuda);
    if (newest.torches?.length) this.set("torch", newest.torches.at(-1));
    const pythons = newest.pythons.filter((python) => !python.endsWith("t"));
    if (pythons.length) this.set("python", pythons[Math.floor(pythons.length / 2)]);
  }

  async onChange(name) {
    if (name === "project") {
      if (!(await this.load())) return;
      const { python, cuda, torch } = this.choice;
      this.defaults();
      const kept = { ...this.choice, python, cuda, torch };
      if (this.wheels.fitting(kept).length) for (const axis of ["python", "cuda", "torch"]) this.set(axis, kept[axis]);
    }
    this.write();
    this.show();
  }

  change(changes) {
    for (const [name, value] of Object.entries(changes)) if (value !== undefined) this.set(name, value);
    this.write();
    this.show();
  }

  take(changes) {
    this.change(changes);
    this.verdict.focus();
  }

  write() {
    const state = new URLSearchParams(Object.entries(this.choice).filter(([, value]) => value));
    history.replaceState(null, "", `#${state}`);
  }

  show() {
    const choice = this.choice;
    for (const axis of AXES) {
      const asked = axis === "torch" ? this.needsTorch(choice.project) : this.field(axis).options.length > 0;
      this.field(axis).closest("label").hidden = !asked;
      for (const option of this.field(axis).options) {
        const fits = this.wheels.fitting({ ...choice, [axis]: option.value }).length > 0;
        option.text = fits || option.selected ? option.value : `${option.value} · no wheel`;
      }
    }
    const [row] = this.wheels.fitting(choice);
    this.verdict.textContent = row ? this.finding(row, choice) : this.refusal(choice);
    this.verdict.classList.toggle("none", !row);
    this.verdict.classList.toggle("unsure", Boolean(row) && !isCertain(row, choice));
    this.answer.replaceChildren(row ? this.wheelFor(row, choice) : this.nearestTo(choice));
    if (row) addCopyButtons(this.answer);
  }

  wheelFor(row, choice) {
    const part = this.section.querySelector("#found").content.cloneNode(true);
    const notes = [...notesOn(row, choice, this.wheels), ...notesOnNames(row, choice, this.wheels)];
    part.querySelector(".notes").append(...notes.map((text) => item(text)));
    for (const [name, text] of Object.entries(commands(row, choice, this.wheels, this.root + treeOf(row, choice.torch)))) {
      part.querySelector(`.${name}`).textContent = text;
    }
    return part;
  }

  nearestTo(choice) {
    const part = this.section.querySelector("#none").content.cloneNode(true);
    const nearest = this.wheels.nearest(choice);
    part.querySelector(".nearest").hidden = nearest.length === 0;
    part.querySelector(".nearest ul").append(...nearest.map((changes) => this.offer(changes)));
    part.querySelector(".coverage").hidden = !this.wheels.of(choice.project).length;
    part.querySelector(".coverage").href = `packages/${encodeURIComponent(choice.project)}/#coverage`;
    return part;
  }

  needsTorch(project) {
    return this.wheels.of(project).some((row) => row.torches);
  }

  // A wheel fits where its label says for which CUDA it is, and its bytes that they run on the GPU.
  finding(row, choice) {
    const wheel = `${row.project} ${row.exactVersion}`;
    if (!row.cudas) return `${wheel} installs on ${this.describe({ ...choice, cuda: "", torch: "" })}. For which CUDA it is, its version does not say.`;
    if (!row.cuda) return `${wheel} is for CUDA ${choice.cuda.split(".")[0]}, and does not say for which release of it: ${this.describe(choice)}.`;
    const fits = `${wheel} fits: ${this.describe(choice)}.`;
    return isCertain(row, choice) ? fits : `${wheel} is for ${this.describe(choice)}. Whether it runs on compute capability ${choice.gpu} is not known.`;
  }

  refusal(choice) {
    const [forOthers] = this.wheels.fitting({ ...choice, gpu: "" });
    if (choice.platform.startsWith("macosx")) return "There is no CUDA on macOS.";
    if (!forOthers) {
      const hint = choice.platform.startsWith("win") ? " In WSL 2, Linux wheels work." : "";
      const wanted = [choice.project, choice.version].filter(Boolean).join(" ");
      return `There is no ${wanted} wheel for ${this.describe(choice)}.${hint}`;
    }
    return `${choice.project} ${forOthers.exactVersion} has no code that runs on compute capability ${choice.gpu}; it has ${architectures(forOthers)}.`;
  }

  offer(changes) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = Object.entries(changes).map(([axis, value]) => this.word(axis, value)).join(", ");
    button.addEventListener("click", () => this.take(changes));
    const place = document.createElement("li");
    place.append(button);
    return place;
  }

  describe(choice) {
    const torch = this.needsTorch(choice.project) ? ["torch"] : [];
    return ["python", "cuda", ...torch, "platform"].filter((axis) => choice[axis]).map((axis) => this.word(axis, choice[axis])).join(", ");
  }

  word(axis, value) {
    if (axis !== "platform") return `${NAMES[axis]} ${value}`;
    return [...this.field("platform").options].find((option) => option.value === value)?.text ?? value;
  }
}

function isCertain(row, { gpu }) {
  return Boolean(row.cuda) && (!gpu || codeFor(row, gpu) !== "unknown");
}

function notesOn(row, choice, wheels) {
  const { gpu, cuda } = choice;
  const notes = [];
  const [how, architecture] = valueOf(row.runs, gpu) ?? [];
  if (how === "machine code" && architecture === gpu) notes.push(`It has machine code for compute capability ${gpu}.`);
  else if (how === "machine code") notes.push(`Its machine code for ${architecture} runs on compute capability ${gpu}.`);
  if (how === "PTX") notes.push(`It has no machine code that runs on compute capability ${gpu}, but portable code (PTX) for ${architecture}: the driver compiles it at first use, which takes a while.`);
  if (!how && (row.sass.length || row.ptx.length)) notes.push(`It has code for compute capability ${architectures(row)}.`);
  if (!how && !row.sass.length && !row.ptx.length) notes.push("Which GPUs it has code for is not known.");
  const torch = wheels.torchFor(row, choice);
  if (torch) notes.push(`The package index has another build of torch: these lines install ${torch[0]} for CUDA ${cuda} from torch's own index.`);
  else if (row.anyTorch) notes.push(`Any torch from ${row.torches[0]} for CUDA ${row.cuda ?? cuda} will do: install it first.`);
  else if (row.torches) notes.push(`Install torch ${row.torches[0]} for CUDA ${row.cuda ?? cuda} first: the wheel is built for it.`);
  const needs = row.glibc ? [`glibc ${row.glibc}`] : [];
  const driver = driverFor(row, choice, wheels.data);
  if (driver) needs.push(`NVIDIA driver ${driver}`);
  if (needs.length) notes.push(`It needs ${needs.join(" and ")}, or newer.`);
  return notes;
}

// The oldest Linux driver that runs the CUDA of a wheel, knows the GPU, and compiles the portable code where it must.
function driverFor(row, { gpu }, { drivers, gpu_drivers: ofGpus, ptx_drivers: ofPtx }) {
  if (!row.cuda || row.platform.startsWith("win")) return null;
  const compiles = codeFor(row, gpu) === "PTX" ? ofPtx[row.cuda] : null;
  const needed = [drivers[row.cuda], valueOf(ofGpus, gpu), compiles].filter(Boolean);
  return needed.sort((one, other) => one.localeCompare(other, "en", { numeric: true })).at(-1) ?? null;
}

function architectures(row) {
  const portable = row.ptx.filter((architecture) => !row.sass.includes(architecture)).map((architecture) => `${architecture} (PTX)`);
  return [...row.sass.map((architecture) => architecture + (row.ptx.includes(architecture) ? "+PTX" : "")), ...portable].join(", ");
}

function item(text) {
  const place = document.createElement("li");
  place.textContent = text;
  return place;
}

const finder = new Finder(document.getElementById("finder"), new Wheels(JSON.parse(document.getElementById("wheels").textContent)));
