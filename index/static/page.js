// Copy buttons. Where the page has no right to write to the clipboard (plain HTTP), the text is selected instead.
"use strict";

function addCopyButtons(within) {
  for (const block of within.querySelectorAll("pre[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${block.previousElementSibling?.textContent ?? "this"}`);
    button.addEventListener("click", () => copy(block.querySelector("code"), button));
    block.append(button);
  }
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

addCopyButtons(document);
