// The wheel finder: the address holds the choice, so a link leads back to the same answer.
"use strict";

const AXES = ["version", "python", "cuda", "torch"];
const NAMES = { python: "Python", cuda: "CUDA", torch: "torch", version: "version", gpu: "compute capability", driver: "driver", glibc: "glibc" };
const FIELDS = ["project", ...AXES, "platform", "gpu", "driver", "driver_cuda", "glibc", "pin"];
const PROJECT = /^[a-z0-9]([\w.-]{0,98}[a-z0-9])?$/i;

class Finder {
  constructor(section, wheels) {
    this.section = section;
    this.wheels = wheels;
    this.form = section.querySelector("#choices");
    this.verdict = section.querySelector(".verdict");
    this.answer = section.querySelector("#answer");
    this.root = plainAddress("./");
    this.fill("project", wheels.data.projects);
    this.field("project").append(...wheels.data.planned.map((project) => new Option(`${project} · no wheel`, project)));
    this.fill("python", wheels.data.pythons);
    this.fill("cuda", [...wheels.data.cudas].reverse());
    this.fill("torch", [...wheels.data.torches].reverse());
    this.form.addEventListener("change", (event) => this.onChange(event.target.name));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", () => this.given.size && this.read());
    this.read();
  }

  field(name) {
    return this.form.elements[name];
  }

  fill(name, values) {
    this.field(name).replaceChildren(new Option("choose", ""), ...values.map((value) => new Option(value, value)));
  }

  set(name, value) {
    const field = this.field(name);
    if (name === "pin") {
      field.checked = value === "exact";
      return;
    }
    if (field.options && ![...field.options].some((option) => option.value === value)) field.add(new Option(value, value));
    field.value = value;
  }

  get choice() {
    return { pin: "", ...Object.fromEntries(new FormData(this.form)) };
  }

  // Choice in the address; none if the address names a part of the page.
  get given() {
    const state = new URLSearchParams(location.hash.slice(1));
    return new Map([...state].filter(([name]) => FIELDS.includes(name)));
  }

  // Shows the choice in the address; what it does not name is not chosen.
  async read() {
    const { given } = this;
    const project = (given.get("project") ?? "").toLowerCase().replaceAll(/[-_.]+/g, "-");
    this.set("project", project);
    if (!(await this.load())) return;
    for (const name of FIELDS) this.set(name, name === "project" ? project : (given.get(name) ?? ""));
    this.show();
  }

  // True once the wheels of the chosen project are loaded, while it is still chosen.
  async load() {
    const { project } = this.choice;
    if (this.wheels.lacking(project).length) this.say(`Loading the wheels of ${project}.`, "open");
    try {
      await this.wheels.load(project);
    } catch (error) {
      this.say(error.message, "none");
      return false;
    }
    if (project !== this.choice.project) return false;
    this.fill("version", this.wheels.versions.get(project) ?? []);
    return true;
  }

  async onChange(name) {
    if (name === "driver") this.set("driver_cuda", "");
    if (name === "project" && !(await this.load())) return;
    this.write();
    this.show();
  }

  change(changes) {
    for (const [name, value] of Object.entries(changes)) this.set(name, value);
    this.write();
    this.show();
  }

  write() {
    const state = new URLSearchParams(Object.entries(this.choice).filter(([, value]) => value));
    history.replaceState(null, "", `#${state}`);
  }

  say(text, kind, ...answer) {
    this.verdict.textContent = text;
    this.verdict.className = `verdict ${kind}`.trim();
    this.answer.replaceChildren(...answer);
    addCopyButtons(this.answer);
  }

  show() {
    const { choice, wheels } = this;
    const rows = wheels.fitting(choice);
    const { agreed, open } = rows.length ? wheels.decide(rows, choice) : { agreed: {}, open: [] };
    this.label(choice, agreed, open);
    if (!choice.project) this.say("Choose a package, or paste what your machine says.", "open");
    else if (!wheels.of(choice.project).length) this.say(...this.absence(choice.project));
    else if (!rows.length) this.say(this.refusal(choice), "none", this.nearestTo(choice));
    else if (open.length) this.say(...this.question(rows, open, choice));
    else this.say(...this.finding(rows[0], { ...choice, ...agreed }, Object.keys(agreed)));
  }

  // Shows the fields that matter, and which of their values have no wheel.
  label(choice, agreed, open) {
    const rows = this.wheels.of(choice.project);
    for (const axis of [...AXES, "platform"]) {
      const [first, ...options] = this.field(axis).options;
      const label = this.field(axis).closest("label");
      label.hidden = rows.length > 0 && axis !== "version" && !rows.some((row) => valuesOf(row, axis).length);
      label.classList.toggle("open", open.includes(axis));
      first.text = agreed[axis] ? `only ${this.word(axis, agreed[axis])}` : axis === "version" ? "newest" : "choose";
      for (const option of axis === "platform" ? [] : options) {
        const fits = !rows.length || option.selected || this.wheels.fitting({ ...choice, [axis]: option.value }).length > 0;
        option.text = fits ? option.value : `${option.value} · no wheel`;
      }
    }
    this.field("glibc").closest("label").hidden = !choice.glibc;
  }

  question(rows, open, choice) {
    const text = `Choose ${inWords(open.map((axis) => NAMES[axis] ?? "the system"))}: ${rows.length === 1 ? `one build of ${choice.project} fits` : `${rows.length} builds of ${choice.project} fit`} so far.`;
    const [row] = rows;
    const newest = { cuda: row.cudas?.at(-1), torch: row.torches?.at(-1) };
    if (!open.every((axis) => newest[axis])) return [text, "open"];
    return [text, "open", this.offers([[null, [], Object.fromEntries(open.map((axis) => [axis, newest[axis]]))]], "Newest that fits")];
  }

  // A wheel fits where its label says for which CUDA it is, and its bytes that they run on the GPU.
  finding(row, choice, agreed) {
    const wheel = `${row.project} ${row.exactVersion}`;
    const answer = this.wheelFor(row, choice);
    if (!row.cudas) return [`${wheel} installs on ${this.describe(choice)}. For which CUDA it is, its version does not say.`, "unsure", answer];
    if (!row.cuda) return [`${wheel} is for CUDA ${choice.cuda.split(".")[0]}, and does not say for which release of it: ${this.describe(choice)}.`, "unsure", answer];
    if (choice.gpu && codeFor(row, choice.gpu) === "unknown") return [`${wheel} is for ${this.describe(choice)}. Whether it runs on compute capability ${choice.gpu} is not known.`, "unsure", answer];
    if (agreed.length) return [`${wheel} is the one that is left, for ${this.describe(choice)}. Choose ${inWords(agreed.map((axis) => NAMES[axis] ?? "the system"))} to see whether it fits.`, "open", answer];
    return [`${wheel} fits: ${this.describe(choice)}.`, "", answer];
  }

  wheelFor(row, choice) {
    const part = this.part("found");
    const notes = [...notesOn(row, choice, this.wheels), ...notesOnNames(row, choice, this.wheels)];
    part.querySelector(".notes").append(...notes.map((text) => element("li", text)));
    for (const [name, text] of Object.entries(commands(row, choice, this.wheels, this.root + treeOf(row, choice.torch)))) {
      part.querySelector(`.${name}`).textContent = text;
    }
    return part;
  }

  refusal(choice) {
    if (choice.platform.startsWith("macosx")) return "There is no CUDA on macOS.";
    const wanted = [choice.project, choice.version].filter(Boolean).join(" ");
    const machine = this.describe(choice, ["gpu", "driver", "glibc"]);
    return `There is no ${wanted} wheel${machine && ` for ${machine}`}.${choice.platform.startsWith("win") ? " In WSL 2, Linux wheels work." : ""}`;
  }

  // A package without wheels: planned by this factory, or none of it.
  absence(project) {
    if (this.wheels.data.planned.includes(project)) return [`${project} is planned, and this index has no wheel of it.`, "none", this.otherWays(project)];
    return [`This index knows no ${project}.`, "none", this.otherWays(project)];
  }

  nearestTo(choice) {
    const nearest = this.wheels.nearest(choice).map(({ row, violated, changes }) => {
      const reasons = violated.map((axis) => `${reasonAgainst(row, axis, choice, this.wheels.data, (...each) => this.word(...each))} ${HELP[axis] ?? ""}`);
      return [`${row.project} ${row.exactVersion}`, reasons, changes];
    });
    const part = document.createDocumentFragment();
    part.append(this.offers(nearest, "Nearest"), this.otherWays(choice.project));
    return part;
  }

  // Wheels, each with the reasons against it and a button that chooses it.
  offers(wheels, title) {
    const list = element("ul");
    for (const [wheel, reasons, changes] of wheels) {
      const place = element("li", "", ...(wheel ? [element("b", wheel)] : []), ...reasons.map((reason) => element("p", reason)));
      const button = element("button", Object.entries(changes).map(([axis, value]) => this.word(axis, value)).join(", "));
      button.type = "button";
      button.addEventListener("click", () => {
        this.change(changes);
        this.verdict.focus();
      });
      if (button.textContent) place.append(button);
      list.append(place);
    }
    const part = element("div", "", element("h3", title), list);
    part.className = "nearest";
    return part;
  }

  // Other ways to the package: a build, other people's wheels, and the page of what is known of it here.
  otherWays(project) {
    const part = this.part("none");
    const planned = this.wheels.data.planned.includes(project);
    part.querySelector(".build").hidden = !PROJECT.test(project);
    part.querySelector(".add").textContent = `wheelmill add ${project} --build`;
    const homes = valueOf(this.wheels.data.homes, project) ?? [];
    part.querySelector(".homes").hidden = !homes.length;
    part.querySelector(".homes").textContent = `${inWords(homes)} ${homes.length > 1 ? "have" : "has"} wheels of ${project}.`;
    part.querySelector(".home").hidden = this.wheels.data.elsewhere[project] !== "same";
    part.querySelector(".request").hidden = planned;
    part.querySelector(".coverage").hidden = !planned && !this.wheels.of(project).length;
    part.querySelector(".coverage").href = `packages/${encodeURIComponent(project)}/${planned ? "" : "#coverage"}`;
    return part;
  }

  part(name) {
    return this.section.querySelector(`#${name}`).content.cloneNode(true);
  }

  describe(choice, more = []) {
    const [row] = this.wheels.of(choice.project);
    const axes = ["python", ...["cuda", "torch"].filter((axis) => !row || this.wheels.of(choice.project).some((each) => valuesOf(each, axis).length)), "platform", ...more];
    return axes.filter((axis) => choice[axis]).map((axis) => this.word(axis, choice[axis])).join(", ");
  }

  word(axis, value) {
    if (axis !== "platform") return `${NAMES[axis]} ${value}`;
    return [...this.field("platform").options].find((option) => option.value === value)?.text ?? value;
  }
}

function inWords(words) {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words[0];
}

function element(name, text = "", ...children) {
  const made = document.createElement(name);
  made.append(...(text ? [text] : []), ...children);
  return made;
}

const finder = new Finder(document.getElementById("finder"), new Wheels(JSON.parse(document.getElementById("wheels").textContent)));
