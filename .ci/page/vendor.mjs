// Makes the files in internal/console/app that others wrote: vendor/preact.js, vendor/LICENSES.txt and
// icons.svg, from the packages of package.json. Run: .ci/npm page && node .ci/page/vendor.mjs
// With --check it writes nothing and fails if a file is not what it would write.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const root = path.join(import.meta.dirname, "../..");
const installed = path.join(root, ".cache/page");
const app = path.join(root, "internal/console/app");
const { build } = createRequire(path.join(installed, "package.json"))("esbuild");
const read = (name) => fs.readFileSync(path.join(installed, "node_modules", name), "utf8");

/** The shapes that the page draws, by their names at lucide.dev. */
const icons = `activity arrow-down arrow-left arrow-up bell book-open calendar-clock check chevron-down chevron-left
  chevron-right circle-alert circle-check circle-dashed clock copy cpu database download ellipsis eraser eye file-text
  filter globe hand hash image inbox info key-round keyboard languages lightbulb link list loader-circle log-out
  menu message-circle mic moon panel-right paperclip pause pencil phone pin play plus quote radio-tower rotate-cw
  scroll-text search send settings shield sparkles square sun sun-moon tag terminal thumbs-down thumbs-up trash-2
  triangle-alert undo-2 unlink user-plus users volume-2 wallet wifi-off wrench x`.split(/\s+/);

/** One shape without its frame, which the style sheet draws. */
function symbol(name) {
  const shape = /<svg[^>]*>(.*)<\/svg>/s.exec(read(`lucide-static/icons/${name}.svg`))[1];
  return `<symbol id="${name}" viewBox="0 0 24 24">${shape.replace(/\s*\n\s*/g, "").replaceAll(" />", "/>")}</symbol>`;
}

/** Preact, its hooks and htm as one module. */
async function preact() {
  const made = await build({
    stdin: {
      resolveDir: installed,
      contents: `
        export { h, Fragment, Component, render, createContext, createRef } from "preact";
        export {
          useState, useReducer, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId, useErrorBoundary,
        } from "preact/hooks";
        export { html } from "htm/preact";`,
    },
    bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none", write: false,
    banner: { js: "/* preact 11.2.0 with hooks (MIT) and htm 3.1.1 (Apache-2.0): see LICENSES.txt */" },
  });
  return made.outputFiles[0].text;
}

const title = (words) => `${"=".repeat(words.length)}\n${words}\n${"=".repeat(words.length)}\n\n`;
const files = {
  "vendor/preact.js": await preact(),
  "vendor/LICENSES.txt": [
    title("preact.js: Preact and its hooks") + read("preact/LICENSE"),
    title("preact.js: htm") + read("htm/LICENSE"),
    title("icons.svg: Lucide") + read("lucide-static/LICENSE"),
  ].join("\n"),
  "icons.svg": `<svg xmlns="http://www.w3.org/2000/svg">\n<!-- ${icons.length} shapes of Lucide 1.62.0 (ISC, MIT): see vendor/LICENSES.txt -->\n`
    + `${icons.map(symbol).join("\n")}\n</svg>\n`,
};
for (const [name, text] of Object.entries(files)) {
  const file = path.join(app, name);
  if (!process.argv.includes("--check")) {
    fs.writeFileSync(file, text);
  } else if (!fs.existsSync(file) || fs.readFileSync(file, "utf8") !== text) {
    console.error(`vendor: ${name} is not what .ci/page/vendor.mjs makes`);
    process.exitCode = 1;
  }
}
