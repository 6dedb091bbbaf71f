// Fills the finder in from a machine's pasted output, which stays in the page.
"use strict";

class Paste {
  constructor(section, finder) {
    this.text = section.querySelector("textarea");
    this.said = section.querySelector(".said");
    this.finder = finder;
    this.text.addEventListener("input", () => this.read());
  }

  read() {
    this.said.textContent = "";
    if (!this.text.value.trim()) return;
    const { data } = this.finder.wheels;
    try {
      const machine = readMachine(this.text.value, data.cards);
      const changes = choiceFor(machine, this.finder.choice, this.finder.wheels);
      this.finder.change(changes);
      this.said.textContent = sentence(machine);
    } catch (error) {
      this.said.textContent = error.message;
    }
  }
}

function sentence({ gpus, driver, driverCuda, python, torch, cuda }) {
  const kinds = [...new Set(gpus.map(({ name, capability }) => `${name} (${capability ?? "compute capability not known: choose it above"})`))];
  const drives = driver && `driver ${driver}${driverCuda ? `, which knows CUDA up to ${driverCuda}` : ""}`;
  const installed = [python && `Python ${python}`, torch && `torch ${torch}`, cuda && `for CUDA ${cuda}`].filter(Boolean).join(" ");
  return `Read: ${[kinds.join(", ") || "no GPU", drives, installed].filter(Boolean).join("; ")}.`;
}

new Paste(document.getElementById("paste"), finder);
