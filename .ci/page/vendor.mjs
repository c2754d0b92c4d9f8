// Makes the files in internal/console/app that others wrote: those in vendor, and icons.svg, from the
// packages of package.json. Run: .ci/npm page && node .ci/page/vendor.mjs
// Those in vendor are kept compressed, as the daemon sends them: nobody edits them.
// With --check it writes nothing and fails if a file is not what it would write.
import fs from "node:fs";
import path from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { createRequire } from "node:module";

const root = path.join(import.meta.dirname, "../..");
const installed = path.join(root, ".cache/page");
const app = path.join(root, "internal/console/app");
const installedRequire = createRequire(path.join(installed, "package.json"));
const { build } = installedRequire("esbuild");
const read = (name) => fs.readFileSync(path.join(installed, "node_modules", name), "utf8");

/** The shapes that the page draws, by their names at lucide.dev. */
const icons = `activity arrow-down arrow-left arrow-up bell calendar-clock check chevron-down chevron-left
  chevron-right circle-alert circle-check circle-dashed clock copy download ellipsis eraser eye file-text filter globe
  hand hash image inbox info key-round keyboard lightbulb link list loader-circle log-out menu message-circle mic
  panel-right paperclip pause pencil phone pin play plus quote radio-tower rotate-cw scroll-text search send settings
  sparkles square sun-moon terminal thumbs-down thumbs-up trash-2 triangle-alert undo-2 unlink user-plus users
  volume-2 wallet wifi-off wrench x`.split(/\s+/);

/** One shape without its frame, which the style sheet draws. */
function symbol(name) {
  const shape = /<svg[^>]*>(.*)<\/svg>/s.exec(read(`lucide-static/icons/${name}.svg`))[1];
  return `<symbol id="${name}" viewBox="0 0 24 24">${shape.replace(/\s*\n\s*/g, "").replaceAll(" />", "/>")}</symbol>`;
}

/** The languages whose code gets colours: a file each. They bring their other names, like js and sh. */
const languages = `bash c cpp css diff dockerfile go ini java javascript json makefile markdown python rust
  shell sql typescript xml yaml`.split(/\s+/);

/** A module of several packages, with a line that says which. */
async function bundle(about, contents, more = {}) {
  const made = await build({
    stdin: { resolveDir: installed, contents }, ...more,
    bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none", write: false,
    banner: { js: `/* ${about}: see LICENSES.txt */` },
  });
  return made.outputFiles[0].text;
}

const preact = `
  export { h, Fragment, Component, render, createContext, createRef } from "preact";
  export {
    useState, useReducer, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId, useErrorBoundary,
  } from "preact/hooks";
  export { html } from "htm/preact";`;

/** The languages whose code is inside that of others. What is missing there has no colours. */
const within = { dockerfile: ["bash"], markdown: ["xml"], shell: ["bash"], xml: ["css", "javascript"] };

/** What a language is called, to its own name. */
function callings() {
  const core = installedRequire("highlight.js/lib/core");
  const names = languages.map((name) => [name, installedRequire(`highlight.js/lib/languages/${name}`)(core).aliases ?? []]);
  return Object.fromEntries(names.flatMap(([name, others]) => [name, ...others].map((called) => [called, name])));
}

const highlighter = `
  export { default } from "highlight.js/lib/core";
  export const named = ${JSON.stringify(callings())};
  export const within = ${JSON.stringify(within)};`;

/** Temml as far as the page uses it: from a formula to its tree. What draws, reads the page for formulas and writes markup is left out. */
const temml = `
  import Settings from "temml/src/Settings.js";
  import Style from "temml/src/Style.js";
  import buildMathML from "temml/src/buildMathML.js";
  import { StyleLevel } from "temml/src/constants.js";
  import parseTree from "temml/src/parseTree.js";
  function __renderToMathMLTree(expression, options) {
    const settings = new Settings(options);
    const level = settings.displayMode ? StyleLevel.DISPLAY : StyleLevel.TEXT;
    return buildMathML(parseTree(expression, settings), expression, new Style({ level, maxSize: settings.maxSize }), settings);
  }
  export default { __renderToMathMLTree };`;

/** Commands that lead somewhere, load something or set attributes: Temml refuses them in a formula that nobody trusts. */
const untrusted = {
  name: "untrusted",
  setup: (b) => b.onLoad({ filter: /temml\/src\/functions\/(href|html|includegraphics)\.js$/ }, () => ({ contents: "" })),
};

const colours = await Promise.all(languages.map(async (name) => [
  `vendor/languages/${name}.js`, await bundle("highlight.js 11.12.0 (BSD-3-Clause)", `export { default } from "highlight.js/lib/languages/${name}";`),
]));

const title = (words) => `${"=".repeat(words.length)}\n${words}\n${"=".repeat(words.length)}\n\n`;
const files = {
  ...Object.fromEntries(colours),
  "vendor/preact.js": await bundle("preact 11.2.0 with hooks (MIT) and htm 3.1.1 (Apache-2.0)", preact),
  "vendor/highlight.js": await bundle("highlight.js 11.12.0 (BSD-3-Clause)", highlighter),
  "vendor/temml.js": await bundle("temml 0.13.5 (MIT), a part of it", temml, { charset: "utf8", plugins: [untrusted] }),
  "vendor/LICENSES.txt": [
    title("preact.js: Preact and its hooks") + read("preact/LICENSE"),
    title("preact.js: htm") + read("htm/LICENSE"),
    title("highlight.js") + read("highlight.js/LICENSE"),
    title("temml.js: Temml") + read("temml/LICENSE"),
    title("icons.svg: Lucide") + read("lucide-static/LICENSE"),
  ].join("\n"),
  "icons.svg": `<svg xmlns="http://www.w3.org/2000/svg">\n<!-- ${icons.length} shapes of Lucide 1.62.0 (ISC, MIT): see vendor/LICENSES.txt -->\n`
    + `${icons.map(symbol).join("\n")}\n</svg>\n`,
};

/** Where a file is kept. */
const placeOf = (name) => path.join(app, name.startsWith("vendor/") ? `${name}.gz` : name);

/** The text of a file as it is kept, or "". A zlib of another version packs other bytes, so only texts are compared. */
function kept(file) {
  if (!fs.existsSync(file)) return "";
  const bytes = fs.readFileSync(file);
  return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
}

for (const [name, text] of Object.entries(files)) {
  const file = placeOf(name);
  if (kept(file) === text) continue;
  if (!process.argv.includes("--check")) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, file.endsWith(".gz") ? gzipSync(text, { level: 9 }) : text);
  } else {
    console.error(`vendor: ${name} is not what .ci/page/vendor.mjs makes`);
    process.exitCode = 1;
  }
}
