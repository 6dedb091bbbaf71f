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
    try {
      const machine = readMachine(this.text.value, this.finder.wheels.data.cards);
      this.finder.change(choiceOf(machine));
      this.said.textContent = `${learnt(machine)} ${notLearnt(machine)}`.trim();
    } catch (error) {
      this.said.textContent = error.message;
    }
  }
}

new Paste(document.getElementById("paste"), finder);
