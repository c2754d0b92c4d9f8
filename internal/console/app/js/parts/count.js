import { html } from "../../vendor/preact.js";

// Count is a number in a bubble: nothing for 0. label says what is counted.
/** @param {{of?: number, warn?: boolean, label: string}} props */
export const Count = ({ of, warn, label }) => of ? html`<span class=${warn ? "count warn" : "count"}>${of > 99 ? "99+" : of}<span class="unseen"> ${label}</span></span>` : null;
