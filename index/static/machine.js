// Facts that a machine reports, and the wheel that fits them. This file touches no page.
"use strict";

const LONGEST = 1 << 20; // characters; "wheelmill environment --json" has 100,000
const DRIVER = /^\d{3}(\.\d{1,4}){1,2}$/;
const RELEASE = /^\d{1,3}\.\d{1,3}t?$/;
// nvidia-smi's table, from driver 410 on; from 610 on it names the two halves of the driver.
const HEADER = /^\| NVIDIA-SMI \S+ +(?:Driver|KMD) Version: (\S+) +CUDA (?:UMD )?Version: (\S+) +\|$/;
const GPU = /^\| +\d+ {1,3}(\S.*?) +(On|Off|N\/A|WDDM|TCC|MCDM) *\| +(?:[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]|N\/A) /i;
const LISTED = /^GPU \d+: (.+) \(UUID: \S+\)$/;

// Reads the table of nvidia-smi, the list of nvidia-smi -L, or the JSON of wheelmill environment. Missing facts are
// null, as is the compute capability of a GPU whose name might be several. Fails with what was expected.
function readMachine(text, cards) {
  if (text.length > LONGEST) throw new Error("This is too long.");
  return text.trim().startsWith("{") ? readEnvironment(text) : readTable(text, cards);
}

function readTable(text, cards) {
  const lines = text.split("\n").map((line) => line.trim());
  const header = lines.map((line) => HEADER.exec(line)).find(Boolean);
  const rows = lines.map((line) => (header ? GPU : LISTED).exec(line)).filter(Boolean).slice(0, 64);
  if (!rows.length) throw new Error("Expected all that nvidia-smi, nvidia-smi -L or wheelmill environment --json prints.");
  const [driver, cuda] = header?.slice(1) ?? [];
  return {
    driver: DRIVER.test(driver) ? driver : null,
    driverCuda: RELEASE.test(cuda) ? cuda : null,
    gpus: rows.map(([, name]) => ({ name, capability: capabilityOf(name, cards) })),
    python: null,
    cuda: null,
    torch: null,
    platform: rows.some(([, , mode]) => ["WDDM", "TCC", "MCDM"].includes(mode)) ? "win_amd64" : null,
  };
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
    platform: known(said.platform, /^\w{1,60}$/),
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

// The newest wheel of a project that runs on every GPU of a machine and with its driver, as changes of a choice; where
// there is none, the machine's facts.
function choiceFor(machine, { project, platform, python }, wheels) {
  const capabilities = machine.gpus.map((gpu) => gpu.capability).filter(Boolean);
  const said = { platform: machine.platform ?? platform, gpu: capabilities[0] ?? "" };
  for (const axis of ["python", "cuda", "torch"]) if (machine[axis]) said[axis] = machine[axis];
  const runnable = wheels.data.cudas.filter((cuda) => runsCuda(machine, cuda, wheels.data.drivers[cuda]));
  const cudas = machine.cuda ? [machine.cuda] : runnable;
  for (const row of wheels.of(project)) {
    const cuda = (row.cudas ?? cudas).filter((each) => cudas.includes(each)).at(-1);
    const own = row.pythons.includes(python) ? python : row.pythons.findLast((each) => !each.endsWith("t"));
    const choice = { version: row.version, cuda, torch: row.torches?.at(-1), python: own, ...said };
    const runs = capabilities.every((gpu) => runsThere(row, gpu, machine, cuda));
    if (cuda && runs && differences(row, choice).length === 0) return choice;
  }
  return { cuda: cudas.at(-1), ...said };
}

// A driver runs every CUDA up to the one that it names; on Linux also those whose oldest driver is not newer than it.
function runsCuda({ driver, driverCuda, platform }, cuda, oldest) {
  if (!driver && !driverCuda) return true;
  const isNamed = driverCuda && !isNewer(cuda, driverCuda);
  return Boolean(isNamed || (driver && oldest && !platform?.startsWith("win") && !isNewer(oldest, driver)));
}

// Portable code is compiled by the driver, which must know the CUDA that wrote it.
function runsThere(row, gpu, { driverCuda }, cuda) {
  const how = codeFor(row, gpu);
  return how === "PTX" ? !driverCuda || !cuda || !isNewer(cuda, driverCuda) : how !== "";
}

function isNewer(one, other) {
  const [ours, theirs] = [one, other].map((text) => text.split(".").map(Number));
  const place = ours.findIndex((number, index) => number !== (theirs[index] ?? 0));
  return place >= 0 && ours[place] > (theirs[place] ?? 0);
}
