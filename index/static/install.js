// Commands that install a wheel. This file touches no page.
"use strict";

// Warnings about names that PyPI has from another home, or that are free there.
function notesOnNames(row, choice, wheels) {
  const required = wheels.required(row.project);
  if (wheels.areShared([row.project, ...required])) return [];
  const whose = {
    other: `PyPI has another project named ${row.project}`,
    absent: `PyPI has no ${row.project}, and its name is free to take there`,
  }[wheels.data.elsewhere[row.project]];
  const there = wheels.beside(row, choice).map((each) => each.project);
  return [
    `${whose ?? "PyPI may have other projects with these names"}: these commands ask this index alone.`,
    ...required.filter((project) => !there.includes(project)).map((project) => `It needs ${project}, of which this index has no wheel that fits.`),
  ];
}

// Commands, and the lines of a pyproject.toml. pip takes the highest version that any of its indexes has, and uv the
// first index that has the name: so only packages that both indexes have from the same home may come from both.
function commands(row, choice, wheels, address) {
  const required = wheels.required(row.project);
  const projects = [row.project, ...required];
  const shared = wheels.areShared(projects);
  const version = `==${choice.pin || !shared || row.cuda === null ? row.exactVersion : row.version}`;
  const requirement = row.project + version;
  const binary = projects.map((project) => `--only-binary ${project}`).join(" ");
  const both = [`--extra-index-url ${quote(address)} ${binary} ${quote(requirement)}`];
  const [torch, torchAddress] = wheels.torchFor(row, choice) ?? [];
  const lines = (option) => [
    ...(torch ? [`${option} ${quote(torchAddress)} ${quote(torch)}`] : []),
    ...(shared ? both : fromHereAlone(row, choice, wheels, `${option} ${quote(address)}`)),
  ];
  const name = row.cuda === null ? "wheels" : tagOf(row.cuda) + (row.torches ? `-torch${choice.torch}` : "");
  const pip = lines("--index-url");
  const requirements = { [row.project]: version, ...Object.fromEntries(required.map((project) => [project, ""])) };
  const sources = [{ name, address, requirements }];
  if (torch) sources.push({ name: `pytorch-${tagOf(choice.cuda)}`, address: torchAddress, requirements: { torch: torch.slice("torch".length) } });
  return {
    ...projectFiles(sources, pip),
    dockerfile: `RUN ${pip.map((options) => `pip install --no-cache-dir ${options}`).join(" \\\n && ")}`,
    jupyter: pip.map((options) => `%pip install ${options}`).join("\n"),
    pip: pip.map((options) => `pip install ${options}`).join("\n"),
    uv: lines("--default-index").map((options) => `uv pip install ${options}`).join("\n"),
  };
}

// Requirements come from PyPI, the wheels from this index alone, by labels that no other versions have.
function fromHereAlone(row, choice, wheels, index) {
  const rows = [row, ...wheels.beside(row, choice)];
  const dependencies = [...new Set(rows.flatMap((each) => each.dependencies))];
  const pins = rows.map((each) => quote(`${each.project}==${each.exactVersion}`));
  const first = dependencies.length ? [dependencies.map(quote).join(" ")] : [];
  return [...first, `${index} --no-deps ${pins.join(" ")}`];
}

// For a shell, where it is not plain. IPython puts a value in place of $name, also in quotes: no name follows its "$".
function quote(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''").replaceAll("$", "$$''")}'`;
}
