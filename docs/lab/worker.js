// Python in a web worker: Pyodide, the package and the pages' Python, all from this site. `boot.js` talks to it.

const say = (message) => postMessage(message);
let python = null;
let run = null;

// Bytes of a file of the site, unpacked if it was packed; `told` hears how many bytes came over the line.
async function stream(file, told) {
  const response = await fetch(new URL(file.path, self.location.href));
  if (!response.ok) throw new Error(`${file.path}: the server answers ${response.status}`);
  let body = response.body.pipeThrough(new TransformStream({
    transform(part, out) { told(part.byteLength); out.enqueue(part); },
  }));
  if (file.packed) body = body.pipeThrough(new DecompressionStream("gzip"));
  return body;
}

async function start({ files, info, environment, modules }) {
  const wanted = Object.values(files);
  const total = wanted.reduce((sum, file) => sum + file.bytes, 0);
  let loaded = 0;
  const told = (bytes) => { loaded += bytes; say({ progress: { stage: "load", loaded, total } }); };
  const load = (name, type) => stream(files[name], told)
    .then((body) => new Response(body, { headers: { "Content-Type": type } }));
  say({ progress: { stage: "load", loaded, total } });

  // All at once. Pyodide fetches the WebAssembly itself: it is given what is under way.
  const [wasm, glue, library, site, loader] = [
    load("pyodide.asm.wasm", "application/wasm"), load("pyodide.asm.mjs", "text/javascript"),
    load("python_stdlib.zip", "application/zip"), load("site.zip", "application/zip"),
    load("pyodide.mjs", "text/javascript"),
  ];
  const imported = async (source) => import(URL.createObjectURL(await (await source).blob()));
  const { loadPyodide } = await imported(loader);
  const createPyodideModule = (await imported(glue)).default;
  const libraryBytes = await library;
  const fetchOfSite = self.fetch;
  self.fetch = (address, options) => {
    if (String(address).endsWith("pyodide.asm.wasm")) return wasm;
    if (String(address).endsWith("python_stdlib.zip")) return Promise.resolve(libraryBytes);
    return fetchOfSite(address, options);
  };
  const home = new URL(".", self.location.href).href;
  python = await loadPyodide({
    indexURL: home, createPyodideModule, lockFileContents: { info, packages: {} },
    env: { HOME: "/site", PYTHONDONTWRITEBYTECODE: "1", ...environment },
    stdout: (text) => console.log(text), stderr: (text) => console.warn(text),
  });
  self.fetch = fetchOfSite;
  say({ progress: { stage: "unpack" } });
  python.unpackArchive(await (await site).arrayBuffer(), "zip", { extractDir: "/site" });
  say({ progress: { stage: "import" } });
  python.runPython("import sys; sys.path.insert(0, '/site')");
  run = python.runPython("import bridge; bridge.run");
  for (const module of modules) python.pyimport(module).destroy();
}

onmessage = async ({ data }) => {
  try {
    if (data.start) {
      await start(data.start);
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
