// Parts of every page: copy buttons, the address of an index in commands, and the search for packages.
"use strict";

// If the page may not write to the clipboard (plain HTTP), it selects the text instead.
function addCopyButtons(within) {
  for (const block of within.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    const code = block.matches("code") ? block : block.querySelector("code");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${titleOf(block)}`);
    button.addEventListener("click", () => copy(code, button));
    if (block.matches("code")) block.after(button);
    else block.append(button);
  }
}

function titleOf(block) {
  const title = block.closest("tr")?.querySelector("th") ?? block.previousElementSibling;
  return /^(H[1-6]|TH)$/.test(title?.tagName) ? title.textContent.trim() : "this command";
}

async function copy(code, button) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

// Commands have the address that their site was made for, or none; a copy of the site elsewhere has its own.
function nameAddresses() {
  for (const block of document.querySelectorAll("[data-address]")) {
    const address = plainAddress(block.dataset.address);
    const code = block.querySelector("code");
    code.textContent = code.textContent.replaceAll(block.dataset.written ?? "ADDRESS", address);
  }
}

// Address without the characters that mean something to a shell, or in Markdown: whoever links here chooses them.
function plainAddress(address) {
  const { href } = new URL(address, document.baseURI.split(/[?#]/)[0]);
  return href.replaceAll(/[^\w@%+=:,./~[\]-]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}

// A line for each file on a page of wheels, from the address and hash that the page already has.
function nameFiles() {
  const project = document.querySelector("h1[data-project]")?.dataset.project;
  for (const link of document.querySelectorAll("a[data-file]")) {
    if (!link.protocol.startsWith("http")) continue;
    const wheel = link.closest(".wheel");
    const block = document.createElement("pre");
    const code = document.createElement("code");
    code.textContent = `pip install '${project} @ ${link.href.replaceAll("'", "%27")}#sha256=${wheel.querySelector(".hash").textContent}'`;
    block.dataset.copy = "";
    block.append(code);
    wheel.append(block);
  }
}

// Name of a project as an index spells it (PEP 503).
function spelled(name) {
  return name.toLowerCase().replaceAll(/[-_.]+/g, "-");
}

// A page that is not there may be that of a package in another spelling, or of what a package is imported as.
async function suggest(place) {
  const folder = document.querySelector("[role=search]").dataset.packages;
  if (!location.pathname.startsWith(folder)) return;
  await load(`${folder}packages.js`);
  const wanted = spelled(decodeURIComponent(location.pathname.slice(folder.length).split("/")[0]));
  const found = PACKAGES.find(([each, , , modules]) => each === wanted || modules.split(" ").map(spelled).includes(wanted));
  if (!found) return;
  const link = document.createElement("a");
  link.href = `${folder}${encodeURIComponent(found[0])}/`;
  link.textContent = found[0];
  place.replaceChildren("You may want ", link, ".");
}

// ID that the address names on this page; empty if it cannot be decoded.
function named() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

// A version or a wheel keeps its address after others have moved it to a further page.
function goOn() {
  const next = document.querySelector("a[rel=next]");
  if (next && named() && !document.getElementById(named())) location.replace(next.href + location.hash);
}

// Loads a script of this site, which also works from a disk, where a page may not fetch.
function load(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error(`${address} cannot be read`)));
    document.head.append(script);
  });
}

class Search {
  constructor(form) {
    this.form = form;
    this.field = form.querySelector("input");
    this.list = form.querySelector("ul");
    this.count = form.querySelector("[role=status]");
    this.folder = form.dataset.packages;
    this.field.addEventListener("focus", () => this.start(), { once: true });
    this.field.addEventListener("input", () => this.show());
    this.form.addEventListener("submit", (event) => this.go(event));
    this.form.addEventListener("keydown", (event) => this.move(event));
    this.form.addEventListener("focusout", (event) => { if (!form.contains(event.relatedTarget)) this.close(); });
  }

  // Loads the list of packages when a search begins.
  async start() {
    this.ready = load(`${this.folder}packages.js`);
    await this.ready;
    this.show();
  }

  // Packages with every word in name, description or modules; those with the first word in their name come first.
  matches() {
    const words = spelled(this.field.value).split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const found = PACKAGES.filter(([name, , text, modules]) => words.every((word) => spelled(`${name} ${text} ${modules}`).includes(word)));
    const rank = ([name]) => (name.startsWith(words[0]) ? 0 : name.includes(words[0]) ? 1 : 2);
    return found.sort((one, other) => rank(one) - rank(other)).slice(0, 8);
  }

  async show() {
    await this.ready;
    const found = this.matches();
    this.list.replaceChildren(...found.map((each) => this.entry(...each)));
    this.list.hidden = !found.length;
    this.count.textContent = this.field.value.trim() ? `${found.length || "No"} package${found.length === 1 ? "" : "s"}` : "";
    this.count.classList.toggle("unseen", found.length > 0 || !this.count.textContent);
  }

  // A package of others has no page here, but a way to get it.
  entry(name, wheels, text, modules, homes) {
    const place = document.createElement("li");
    const link = document.createElement(homes ? "p" : "a");
    const about = document.createElement("span");
    if (!homes) link.href = `${this.folder}${encodeURIComponent(name)}/`;
    link.append(name);
    about.textContent = homes ? `not here: wheelmill add ${name} takes it from ${homes}` : [wheels ? "" : "no wheels", text].filter(Boolean).join(" · ");
    link.append(about);
    place.append(link);
    return place;
  }

  async go(event) {
    event.preventDefault();
    await this.show();
    this.list.querySelector("a")?.click();
  }

  move(event) {
    const places = [this.field, ...this.list.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.close();
    if (!step || this.list.hidden) return;
    event.preventDefault();
    places[(places.indexOf(document.activeElement) + step + places.length) % places.length].focus();
  }

  close() {
    this.list.hidden = true;
    this.count.classList.add("unseen");
  }
}

nameAddresses();
nameFiles();
addCopyButtons(document);
addEventListener("hashchange", goOn);
goOn();
const missing = document.querySelector("[data-missing]");
if (missing) suggest(missing).catch(() => {}); // then the page says only that it is not there
for (const form of document.querySelectorAll("[role=search]")) new Search(form);
