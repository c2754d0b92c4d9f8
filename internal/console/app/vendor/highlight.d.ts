// As much of highlight.js as the page uses. Not served.

/** Part is a piece of code with what it is; a string is neither. */
export type Part = string | { scope?: string; children: Part[] };

declare const highlighter: {
  getLanguage(name: string): object | undefined;
  /** _emitter is no promised name: a test fails if it is another one. */
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { _emitter: { rootNode: { children: Part[] } } };
};
export default highlighter;
