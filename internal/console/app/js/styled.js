// styled loads a style sheet that only some parts of the page need, once.
/** @param {string} name of the file in css */
export function styled(name) {
  const href = new URL(`../css/${name}.css`, import.meta.url).pathname;
  if (document.head.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  return new Promise((done) => {
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: done, onerror: done }));
  });
}
