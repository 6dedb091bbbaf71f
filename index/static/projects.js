// Lines for other tools' files. This file touches no page.
"use strict";

// Poetry, PDM and pixi tie every package to this index; Hatch has no such setting, so it gets the commands that are
// safe for pip.
function projectFiles({ requirements, name, address, pip }) {
  const [index, url] = [JSON.stringify(name), JSON.stringify(address)];
  const projects = Object.keys(requirements);
  const dependencies = JSON.stringify(projects.map((project) => project + requirements[project]));
  const files = {
    poetry: [
      "[project]",
      `dependencies = ${dependencies}`,
      "",
      "[tool.poetry.dependencies]",
      ...projects.map((project) => `${project} = { source = ${index} }`),
      "",
      "[[tool.poetry.source]]",
      `name = ${index}`,
      `url = ${url}`,
      'priority = "explicit"',
    ],
    pdm: [
      "[project]",
      `dependencies = ${dependencies}`,
      "",
      "[[tool.pdm.source]]",
      `name = ${index}`,
      `url = ${url}`,
      `include_packages = ${JSON.stringify(projects)}`,
      'exclude_packages = ["*"]',
    ],
    hatch: [
      "[tool.hatch.envs.default]",
      "pre-install-commands = [",
      ...pip.map((options) => `  ${JSON.stringify(`pip install ${options}`)},`),
      "]",
    ],
    pixi: [
      "[pypi-dependencies]",
      ...projects.map(
        (project) => `${project} = { version = ${JSON.stringify(requirements[project] || "*")}, index = ${url} }`,
      ),
    ],
  };
  return Object.fromEntries(Object.entries(files).map(([tool, lines]) => [tool, lines.join("\n")]));
}
