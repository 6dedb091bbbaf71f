// Sentences about a wheel: why it does not fit a choice and what helps, and what it needs. This file touches no page.
"use strict";

// Reason why a row does not fit a choice on one axis.
function reasonAgainst(row, axis, choice, data, word) {
  if (axis === "version") return `It is version ${row.version}, not ${choice.version}.`;
  if (axis === "gpu") {
    const lacking = choice.gpu.split(",").filter((gpu) => codeFor(row, gpu) === "");
    return `It has no code that runs on compute capability ${lacking.join(" and ")}; it has ${architectures(row)}.`;
  }
  if (axis === "driver") {
    const needed = driverFor(row, choice, data);
    return `It needs ${needed ? `NVIDIA driver ${needed} or newer` : `a driver that knows CUDA ${row.cuda ?? row.cudas[0]}`}; yours is ${choice.driver}.`;
  }
  if (axis === "glibc") return `It needs glibc ${row.glibc} or newer; yours is ${choice.glibc}.`;
  const values = valuesOf(row, axis);
  return `It is for ${word(axis, values.length > 3 ? `${values[0]} to ${values.at(-1)}` : values.join(", "))}, not ${word(axis, choice[axis])}.`;
}

// Remedies on the axes that no other choice of this page changes.
const HELP = {
  gpu: "Code for this GPU needs another build.",
  driver: "Update the driver, or choose a wheel for an older CUDA.",
  glibc: "Use a newer Linux, also in a container.",
};

function notesOn(row, choice, wheels) {
  const { gpu, cuda } = choice;
  const known = gpu.split(",").filter((each) => valueOf(row.runs, each));
  const notes = known.map((each) => {
    const [how, architecture] = row.runs[each];
    if (how === "PTX") return `It has no machine code that runs on compute capability ${each}, but portable code (PTX) for ${architecture}: the driver compiles it at first use, which takes a while.`;
    return architecture === each ? `It has machine code for compute capability ${each}.` : `Its machine code for ${architecture} runs on compute capability ${each}.`;
  });
  if (!known.length) notes.push(row.sass.length || row.ptx.length ? `It has code for compute capability ${architectures(row)}.` : "Which GPUs it has code for is not known.");
  const torch = wheels.torchFor(row, choice);
  if (torch) notes.push(`PyPI has another build of torch: these lines install ${torch[0]} for CUDA ${cuda} from torch's own index.`);
  else if (row.anyTorch) notes.push(`Any torch from ${row.torches[0]} for CUDA ${row.cuda ?? cuda} will do: install it first.`);
  else if (row.torches) notes.push(`Install torch ${row.torches[0]} for CUDA ${row.cuda ?? cuda} first: the wheel is built for it.`);
  const needs = row.glibc ? [`glibc ${row.glibc}`] : [];
  const driver = driverFor(row, choice, wheels.data);
  if (driver) needs.push(`NVIDIA driver ${driver}`);
  if (needs.length) notes.push(`It needs ${needs.join(" and ")}, or newer.`);
  return notes;
}

function architectures(row) {
  const portable = row.ptx.filter((architecture) => !row.sass.includes(architecture)).map((architecture) => `${architecture} (PTX)`);
  return [...row.sass.map((architecture) => architecture + (row.ptx.includes(architecture) ? "+PTX" : "")), ...portable].join(", ");
}
