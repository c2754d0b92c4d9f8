import { html, useEffect, useState } from "../../vendor/preact.js";

// Lazily draws a component whose module is loaded when it is first drawn. load must be the
// same function each time.
/** @param {{load: () => Promise<any>, props: object, meanwhile?: any}} props */
export function Lazily({ load, props, meanwhile = null }) {
  const [Found, find] = useState(/** @type {any} */ (undefined));
  useEffect(() => { load().then((component) => find(() => component), () => {}); }, [load]); // without a network the next drawing tries again
  return Found ? html`<${Found} ...${props} />` : meanwhile;
}
