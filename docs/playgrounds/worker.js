// Python in a web worker: Pyodide, the package and the pages' Python, all from this site. `boot.js` talks to it.

import { start } from "./python.js";

const say = (message) => postMessage(message);
let python = null;
let run = null;

async function begin({ files, info, environment, modules }) {
  const total = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
  let loaded = 0;
  const told = (bytes) => { loaded += bytes; say({ progress: { stage: "load", loaded, total } }); };
  told(0);
  const options = {
    lockFileContents: { info, packages: {} }, env: { HOME: "/site", PYTHONDONTWRITEBYTECODE: "1", ...environment },
    stdout: (text) => console.log(text), stderr: (text) => console.warn(text),
  };
  const started = await start({ files }, options, { more: { "site.zip": "application/zip" }, told });
  python = started.python;
  say({ progress: { stage: "unpack" } });
  python.unpackArchive(await (await started.others["site.zip"]).arrayBuffer(), "zip", { extractDir: "/site" });
  say({ progress: { stage: "import" } });
  python.runPython("import sys; sys.path.insert(0, '/site')");
  run = python.runPython("import bridge; bridge.run");
  for (const module of modules) python.pyimport(module).destroy();
}

onmessage = async ({ data }) => {
  try {
    if (data.start) {
      await begin(data.start);
      say({ ready: true });
    } else {
      const told = data.progress ? (text) => say({ number: data.number, told: JSON.parse(text) }) : undefined; // None in Python
      const answer = JSON.parse(run(data.function, JSON.stringify(data.arguments), told));
      say({ number: data.number, ...answer });
    }
  } catch (error) {
    say({ number: data.number, error: { kind: "Error", text: String(error.message ?? error) } });
  }
};
