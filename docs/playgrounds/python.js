// Pyodide from this site's packed files (`files.json` lists them), which a browser may keep: one copy serves the
// playgrounds (`worker.js`) and the kernel of JupyterLite (`lessons/static/pyodide/pyodide.mjs`).

const home = new URL(".", import.meta.url);

// The answer with a file of the site, unpacked if it was packed; `told` hears how many bytes came over the line.
async function load(file, type, told) {
  const response = await fetch(new URL(file.path, home));
  if (!response.ok) throw new Error(`${file.path}: the server answers ${response.status}`);
  let body = response.body.pipeThrough(new TransformStream({
    transform(part, out) { told(part.byteLength); out.enqueue(part); },
  }));
  if (file.packed) body = body.pipeThrough(new DecompressionStream("gzip"));
  return new Response(body, { headers: { "Content-Type": type } });
}

// Starts Pyodide with `options`; gives it and the answers with `more` files (name: type), fetched at the same time.
export async function start({ files }, options, { more = {}, told = () => {} } = {}) {
  // All at once. Pyodide fetches the WebAssembly itself: it is given what is under way.
  const get = (name, type) => load(files[name], type, told);
  const [wasm, glue, library, loader] = [
    get("pyodide.asm.wasm", "application/wasm"), get("pyodide.asm.mjs", "text/javascript"),
    get("python_stdlib.zip", "application/zip"), get("pyodide.mjs", "text/javascript"),
  ];
  const others = Object.fromEntries(Object.entries(more).map(([name, type]) => [name, get(name, type)]));
  const imported = async (source) => import(URL.createObjectURL(await (await source).blob()));
  const { loadPyodide } = await imported(loader);
  const createPyodideModule = (await imported(glue)).default;
  const libraryBytes = await library;
  const fetchOfSite = self.fetch;
  self.fetch = (address, how) => {
    if (String(address).endsWith("pyodide.asm.wasm")) return wasm;
    if (String(address).endsWith("python_stdlib.zip")) return Promise.resolve(libraryBytes);
    return fetchOfSite(address, how);
  };
  const python = await loadPyodide({ indexURL: home.href, ...options, createPyodideModule });
  self.fetch = fetchOfSite;
  return { python, others };
}
