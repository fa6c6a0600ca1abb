// Python for a playground. A page has a module of Python beside it (`loss.py` for `loss.html`) and says:
//
//   import { boot } from "./boot.js";
//   const python = boot({ modules: ["loss"], onProgress: ({ text, loaded, total }) => (line.textContent = text) });
//   await python.ready;
//   const answer = await python.call("loss.draw", [state]);   // what JSON can hold, both ways
//   await python.call("loss.orders", [state], (told) => ...); // the function gets progress=, and tells what JSON can hold
//   python.stop();                                            // also in the midst of a call: that is how one is cancelled
//
// A call that fails rejects with an Error: `name` is "BadInput" (its text is for the reader), "Stopped" or "Error".
// Each boot is a Python of its own in a worker of its own, and calls of one Python are answered in their order.
// `first` is a page of this site whose first calls are known (`first/loss-en.json`, made when the site was built, by the
// same Python): they are answered at once, and Python hears of them as soon as it runs.
// `language` is what pictures, tables and errors speak; it is the page's unless given. Everything comes from this site.

import { language as spoken, words } from "./words.js";

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

export function boot({ modules = [], onProgress = () => {}, language = spoken, first = null } = {}) {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  const known = first === null ? Promise.resolve([]) : firstCalls(first, language);
  const told = []; // the calls that were answered from what is known
  let running = false;
  const waiting = new Map();
  let count = 0;
  let started;
  let failed;
  const begun = new Promise((resolve, reject) => ([started, failed] = [resolve, reject]));
  const ask = (name, args, onTold = null) => {
    const number = ++count;
    return new Promise((resolve, reject) => {
      waiting.set(number, { resolve, reject, onTold });
      worker.postMessage({ number, function: name, arguments: args, progress: onTold !== null });
    });
  };
  const ready = begun.then(async () => {
    running = true;
    for (const [name, args] of told) await ask(name, args);
    onProgress({ done: true });
  });
  ready.catch(() => {}); // whoever calls is told

  const problem = (name, text) => Object.assign(new Error(text), { name });
  const end = (error) => {
    failed(error);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    worker.terminate();
  };

  worker.onerror = (event) => end(problem("Error", event.message || "the worker could not start"));
  worker.onmessage = async ({ data }) => {
    if (data.progress) {
      const { stage, loaded, total } = data.progress;
      const say = await words("boot");
      onProgress({ ...data.progress, text: say(stage, { loaded: megabytes(loaded ?? 0), total: megabytes(total ?? 0) }) });
    } else if (data.ready) {
      started();
    } else if (data.number === undefined) {
      end(problem(data.error.kind, data.error.text));
    } else if ("told" in data) {
      waiting.get(data.number)?.onTold(data.told);
    } else {
      const { resolve, reject } = waiting.get(data.number);
      waiting.delete(data.number);
      if (data.error) reject(problem(data.error.kind, data.error.text));
      else resolve(data.value);
    }
  };

  fetch(new URL("./files.json", import.meta.url), { cache: "no-cache" })
    .then((answer) => answer.json())
    .then((known) => worker.postMessage({ start: { ...known, modules, environment: { RMQLAB_LANG: language } } }))
    .catch((error) => end(problem("Error", String(error))));

  return {
    ready,
    async call(name, args = [], onTold = null) {
      if (!running) {
        const same = JSON.stringify(args);
        const answer = (await known).find((one) => one.name === name && JSON.stringify(one.arguments) === same);
        if (answer && !running) {
          told.push([name, args]);
          return structuredClone(answer.value);
        }
      }
      await ready;
      return ask(name, args, onTold);
    },
    stop: () => end(problem("Stopped", "stopped")),
  };
}

async function firstCalls(page, language) {
  const answer = await fetch(new URL(`./first/${page}-${language}.json`, import.meta.url)).catch(() => null);
  return answer?.ok ? answer.json() : [];
}
