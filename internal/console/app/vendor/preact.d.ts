// The types of preact.js, from the packages in .cache/page. Not served.
export { h, Fragment, Component, render, createContext, createRef } from "preact";
export {
  useState, useReducer, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId, useErrorBoundary,
} from "preact/hooks";
export { html } from "htm/preact";
