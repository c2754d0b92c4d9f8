// Hooks for node's imports: a module in the folder vendor is what is in its .gz file.
import fs from "node:fs/promises";
import { gunzipSync } from "node:zlib";

/** @param {string} name @param {{ parentURL?: string }} context @param {Function} next */
export function resolve(name, context, next) {
  if (!name.includes("/vendor/")) return next(name, context);
  return { url: new URL(name, context.parentURL).href, shortCircuit: true };
}

/** @param {string} url @param {object} context @param {Function} next */
export async function load(url, context, next) {
  if (!url.includes("/console/app/vendor/")) return next(url, context);
  return { format: "module", source: gunzipSync(await fs.readFile(new URL(`${url}.gz`))), shortCircuit: true };
}
