// As much of Temml as the page uses. Not served.

/** Part is an element of a formula, before there are nodes of it. */
export interface Part {
  attributes?: Record<string, string>;
  children?: Part[];
  toNode(): Node;
}

declare const temml: {
  /** It throws what is wrong with a formula, if throwOnError says so. It is no promised name: a test fails if it is another one. */
  __renderToMathMLTree(tex: string, options: { displayMode: boolean; throwOnError: boolean; maxExpand: number; maxSize: [number, number] }): Part;
};
export default temml;
