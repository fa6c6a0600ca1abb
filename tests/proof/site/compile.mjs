// Compiles the modules of a zip with the Python that a browser will have: its bytecode is nobody else's.
//   node compile.mjs PYODIDE-FOLDER FROM.zip TO.zip
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, from, to] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide();
python.FS.writeFile("/from.zip", readFileSync(from));
python.runPython(`
import py_compile
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)
with zipfile.ZipFile("/from.zip") as given, zipfile.ZipFile("/to.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
    for name in given.namelist():
        content = given.read(name)
        if name.endswith(".py"):
            with open("/module.py", "wb") as module:
                module.write(content)
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile("/module.py", "/module.pyc", name, doraise=True, invalidation_mode=mode)
            name, content = f"{name}c", open("/module.pyc", "rb").read()
        made.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED, 9)
`);
writeFileSync(to, python.FS.readFile("/to.zip"));
