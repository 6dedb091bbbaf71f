// Facts that a machine reports, as programs print them. This file touches no page.
"use strict";

const LONGEST = 1 << 20; // characters; "wheelmill environment --json" has 100,000
const MOST_LINES = 10_000; // "nvidia-smi -q" has 400 for each GPU
const LONGEST_LINE = 500; // characters, which bounds what the patterns below go back
const DRIVER = /^\d{3}(\.\d{1,4}){1,2}$/;
const RELEASE = /^\d{1,3}\.\d{1,3}t?$/;
const TORCH = /^(\d{1,2}\.\d{1,3})(?:\.\d+)?(rc\d{1,3})?[^+\s]*(?:\+(?:cu(\d\d)(\d)\b|(cpu|rocm|xpu))?\S*)?$/;
const NAMED = /^(NVIDIA|Tesla|Quadro|TITAN|GeForce) /;
const FORMS = { driver: DRIVER, driverCuda: RELEASE, python: RELEASE, cuda: RELEASE, glibc: RELEASE, platform: /^\w{1,60}$/ };

// Lines of programs, and the facts that they name in this order.
const LINES = [
  // nvidia-smi's table, from driver 410 on; from 610 on it names the two halves of the driver.
  [/^\| NVIDIA-SMI \S+ +(?:Driver|KMD) Version: (\S+) +CUDA (?:UMD )?Version: (\S+) +\|$/, "driver", "driverCuda"],
  [/^\| +\d+ {1,3}(\S.*?) +(On|Off|N\/A|WDDM|TCC|MCDM) *\| +(?:[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]|N\/A) /i, "gpu", "mode"],
  // nvidia-smi -L and -q
  [/^(?:GPU models and configuration: )?GPU \d+: (.+?)(?: \(UUID: \S+\))?$/, "gpu"],
  [/^Product Name +: (.+)$/, "gpu"],
  [/^CUDA Version +: (\S+)$/, "driverCuda"],
  // python -V, torch.__version__ and pip list, also as requirements
  [/^Python (?:version: )?(\d\.\d+)\.\S+(.*free-threading)?/, "python", "threads"],
  [/^'?(2\.\d+\.[^\s']+)'?(?: (\d+\.\d+|None)(?: (\S.*))?)?$/, "torch", "cuda", "gpu"],
  [/^torch(?:==| +)(\d\S*)/, "torch"],
  [/^nvidia-cuda-runtime(?:-cu\d\d)?(?:==| +)(\d+\.\d+)/, "cuda"],
  // torch.utils.collect_env
  [/^PyTorch version: (\S+)$/, "torch"],
  [/^CUDA used to build PyTorch: (\S+)$/, "cuda"],
  [/^(?:Nvidia driver version:|Driver Version +:|driver ) *(\S+)/, "driver"],
  [/^Python platform: (Linux|Windows)-(?:\S*-(x86_64|aarch64)-with-glibc(\d+\.\d+))?/, "system", "machine", "glibc"],
  [/^Libc version: glibc-(\S+)$/, "glibc"],
  // uname -a and ldd --version
  [/^(Linux) .*\b(x86_64|aarch64)\b.*GNU\/Linux$/, "system", "machine"],
  [/^ldd \(.*\) (\d+\.\d+)$/, "glibc"],
  // wheelmill environment
  [/^python {2,}(\d\.\d+t?)/, "python"],
  [/^platform {2,}(\w+)/, "platform"],
  [/^libc {2,}glibc (\S+)/, "glibc"],
  [/^cuda {2,}(\S+)/, "cuda"],
  [/^driver_cuda {2,}(\S+)/, "driverCuda"],
  [/^(\d{3}\.\d+\.\d+)$/, "driver"],
];

// Reads what programs print, in any order. Missing facts are null, as is the compute capability of a GPU whose name
// might be several. Fails where nothing can be read.
function readMachine(text, cards) {
  if (text.length > LONGEST) throw new Error("This is too long.");
  const machine = text.trim().startsWith("{") ? readEnvironment(text) : readLines(text, cards);
  if (!Object.values(machine).some((fact) => fact?.length)) throw new Error("Nothing of this is known here: expected what nvidia-smi or another of these programs prints.");
  return machine;
}

function readLines(text, cards) {
  const machine = { driver: null, driverCuda: null, gpus: [], python: null, cuda: null, torch: null, accelerator: null, platform: null, glibc: null };
  const lines = text.split("\n", MOST_LINES).map((line) => line.trim()).filter((line) => line && line.length <= LONGEST_LINE);
  let columns = null;
  for (const line of lines) {
    const fields = line.split(/ *, */);
    const kinds = fields.map(kindOf);
    if (fields.some((field) => valueOf(COLUMNS, field))) columns = fields.map((field) => valueOf(COLUMNS, field));
    else if (isOfQuery(kinds, columns) || (NAMED.test(line) && capabilityOf(line, cards))) learn(machine, kinds, fields, cards);
    for (const [form, ...facts] of LINES) {
      const found = form.exec(line);
      if (found) learn(machine, facts, found.slice(1), cards);
    }
    if (!/^gpus {2,}/.test(line)) continue;
    for (const [, name, major, minor] of line.slice("gpus".length).matchAll(/([^,]{1,100}) \(sm_(\d{1,2})(\d)\)/g)) addGpu(machine, name.trim(), `${major}.${minor}`);
  }
  return machine;
}

// Columns of nvidia-smi --query-gpu, which may print no header.
const COLUMNS = { name: "gpu", gpu_name: "gpu", driver_version: "driver", compute_cap: "capability" };

function kindOf(field) {
  if (NAMED.test(field)) return "gpu";
  if (DRIVER.test(field)) return "driver";
  return /^\d{1,2}\.\d$/.test(field) ? "capability" : undefined;
}

function isOfQuery(kinds, columns) {
  if (!columns) return kinds[0] === "gpu" && (kinds.includes("driver") || kinds.includes("capability"));
  return kinds.length === columns.length && columns.every((column, place) => !column || column === kinds[place]);
}

// Puts what a line says into a machine; the first line that names a fact decides.
function learn(machine, facts, values, cards) {
  const said = Object.fromEntries(facts.map((fact, place) => [fact, values[place]]).filter(([fact, value]) => fact && value));
  for (const [fact, form] of Object.entries(FORMS)) if (said[fact] && form.test(said[fact])) machine[fact] ??= said[fact];
  if (said.threads && machine.python === said.python) machine.python += "t";
  const torch = said.torch && TORCH.exec(said.torch);
  if (torch) {
    machine.torch ??= torch[1] + (torch[2] ?? "");
    if (torch[3]) machine.cuda ??= `${torch[3]}.${torch[4]}`;
    machine.accelerator ??= torch[5] ?? null;
  }
  if (said.system === "Windows" || ["WDDM", "TCC", "MCDM"].includes(said.mode)) machine.platform ??= "win_amd64";
  if (said.machine) machine.platform ??= `linux_${said.machine}`;
  if (said.gpu || said.capability) addGpu(machine, said.gpu ?? "GPU", known(said.capability, RELEASE) ?? (said.gpu ? capabilityOf(said.gpu, cards) : null));
}

function addGpu(machine, name, capability) {
  if (machine.gpus.length < 64) machine.gpus.push({ name, capability });
}

function readEnvironment(text) {
  let said;
  try {
    said = JSON.parse(text);
  } catch {
    throw new Error("This is no whole JSON object.");
  }
  if (said.schema !== "wheelmill.environment/1") throw new Error("Expected what wheelmill environment --json prints.");
  const gpus = Array.isArray(said.gpus) ? said.gpus.slice(0, 64) : [];
  return {
    driver: known(said.driver, DRIVER),
    driverCuda: known(said.driver_cuda, RELEASE),
    gpus: gpus.map((gpu) => ({ name: known(gpu?.name, /^.{1,100}$/) ?? "GPU", capability: known(gpu?.capability, RELEASE) })),
    python: known(said.python, RELEASE),
    cuda: known(said.cuda, RELEASE),
    torch: known(said.torch, /^\d{1,3}\.\d{1,3}(rc\d{1,3})?$/),
    accelerator: said.cpu_only === true ? "cpu" : null,
    platform: known(said.platform, /^\w{1,60}$/),
    glibc: known(said.libc, /^glibc \d{1,3}\.\d{1,3}$/)?.slice("glibc ".length) ?? null,
  };
}

function known(value, form) {
  return typeof value === "string" && form.test(value) ? value : null;
}

// The compute capability of what nvidia-smi calls a GPU, as wheelmill's --gpu reads it; null where it might be several.
function capabilityOf(name, cards) {
  const said = name.toLowerCase().replace(/[rg]tx/g, " $& ").split(/[\s_-]+/);
  const found = Object.keys(cards).filter((capability) => cards[capability].some((card) => isCard(card.split(" "), said)));
  return found.length === 1 ? found[0] : null;
}

function isCard(words, said) {
  if (words.at(-1) !== "series") return words.every((word) => said.includes(word));
  const numbers = said.map((word) => word.replace(/[a-z]+$/, ""));
  return numbers.some((number) => number.length === 4 && number.startsWith(words.at(-2)) && !number.endsWith("00"));
}

// Choice of the finder that a machine makes: what it did not report stays as it is.
function choiceOf(machine) {
  const { python, cuda, torch, platform, glibc, driver, driverCuda } = machine;
  const gpu = [...new Set(machine.gpus.map(({ capability }) => capability).filter(Boolean))].join(",");
  const facts = { python, cuda, torch, platform, glibc, gpu, driver };
  const choice = Object.fromEntries(Object.entries(facts).filter(([, value]) => value));
  return driver ? { ...choice, driver_cuda: driverCuda ?? "" } : choice;
}

function learnt({ gpus, driver, driverCuda, python, torch, cuda, accelerator, platform, glibc }) {
  const kinds = [...new Set(gpus.map(({ name, capability }) => `${name} (${capability ?? "compute capability not known: choose it above"})`))];
  const drives = driver && `driver ${driver}${driverCuda ? `, which knows CUDA up to ${driverCuda}` : ""}`;
  const without = !cuda && accelerator && `for ${accelerator}, not for CUDA: install another torch`;
  const installed = [python && `Python ${python}`, torch && `torch ${torch}`, cuda ? `for CUDA ${cuda}` : without].filter(Boolean).join(" ");
  return `Read: ${[kinds.join(", "), drives, installed, platform, glibc && `glibc ${glibc}`].filter(Boolean).join("; ")}.`;
}

// Facts that decide and were not pasted, with the program that prints each.
function notLearnt({ gpus, driver, python, torch, cuda, accelerator, platform }) {
  const lacking = [
    !gpus.length && "the GPU (nvidia-smi)",
    gpus.length > 0 && !driver && "the driver (nvidia-smi)",
    !python && "Python (python -V)",
    !torch && "torch (pip list)",
    torch && !cuda && !accelerator && "the CUDA of torch (torch.version.cuda)",
    !platform && "the system (uname -a)",
  ].filter(Boolean);
  return lacking.length ? `Not learnt: ${lacking.join(", ")}.` : "";
}
