// As much of highlight.js as the page uses. Not served.

/** Part is a piece of code with what it is; a string is neither. */
export type Part = string | { scope?: string; children: Part[] };

declare const highlighter: {
  getLanguage(name: string): object | undefined;
  registerLanguage(name: string, language: object): void;
  /** _emitter is no promised name: a test fails if it is another one. */
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { _emitter: { rootNode: { children: Part[] } } };
};
export default highlighter;

/** What a language is called, to its own name, which is that of its file in languages. */
export const named: { [called: string]: string | undefined };
/** The languages whose code is inside that of others. */
export const within: { [name: string]: string[] | undefined };
