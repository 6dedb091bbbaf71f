// Lines for other tools' files. This file touches no page.
"use strict";

// uv, Poetry, PDM and pixi tie every package to its index; Hatch has no such setting, so it gets the commands that are
// safe for pip. The requirements of each source are ranges, by project.
function projectFiles(sources, pip) {
  const each = (lines) => sources.flatMap(({ name, address, requirements }) =>
    lines(JSON.stringify(name), JSON.stringify(address), Object.keys(requirements), requirements));
  const dependencies = each((name, url, projects, ranges) => projects.map((project) => project + ranges[project]));
  const project = ["[project]", `dependencies = ${JSON.stringify(dependencies)}`, ""];
  const files = {
    pyproject: [
      ...project,
      "[tool.uv]",
      `no-build-package = ${JSON.stringify(each((name, url, projects) => projects))}`,
      "",
      ...each((name, url) => ["[[tool.uv.index]]", `name = ${name}`, `url = ${url}`, "explicit = true", ""]),
      "[tool.uv.sources]",
      ...each((name, url, projects) => projects.map((project) => `${project} = { index = ${name} }`)),
    ],
    poetry: [
      ...project,
      "[tool.poetry.dependencies]",
      ...each((name, url, projects) => projects.map((project) => `${project} = { source = ${name} }`)),
      ...each((name, url) => ["", "[[tool.poetry.source]]", `name = ${name}`, `url = ${url}`, 'priority = "explicit"']),
    ],
    pdm: [
      ...project.slice(0, -1),
      ...each((name, url, projects) => [
        "",
        "[[tool.pdm.source]]",
        `name = ${name}`,
        `url = ${url}`,
        `include_packages = ${JSON.stringify(projects)}`,
        'exclude_packages = ["*"]',
      ]),
    ],
    hatch: [
      "[tool.hatch.envs.default]",
      "pre-install-commands = [",
      ...pip.map((options) => `  ${JSON.stringify(`pip install ${options}`)},`),
      "]",
    ],
    pixi: [
      "[pypi-dependencies]",
      ...each((name, url, projects, ranges) =>
        projects.map((project) => `${project} = { version = ${JSON.stringify(ranges[project] || "*")}, index = ${url} }`)),
    ],
  };
  return Object.fromEntries(Object.entries(files).map(([tool, lines]) => [tool, lines.join("\n")]));
}
