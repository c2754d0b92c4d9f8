import { html } from "../../vendor/preact.js";

/**
 * Column is one of a table. kind is wide, num or act; label stands before the value where
 * the rows are folded; hidden: only screen readers get its title.
 * @typedef {{title: string, kind?: string, label?: boolean, hidden?: boolean, cell: (row: any) => any}} Column
 */

// Table shows rows, and folds each into a small card where its box is narrow.
/** @param {{columns: Column[], rows: any[], name: (row: any) => string, label: string}} props */
export const Table = ({ columns, rows, name, label }) => html`<div class="tablewrap"><table class="data" aria-label=${label}>
  <thead><tr>${columns.map((c) => html`<th scope="col" class=${c.kind === "num" ? "num" : ""}>${c.hidden ? html`<span class="unseen">${c.title}</span>` : c.title}</th>`)}</tr></thead>
  <tbody>${rows.map((row) => html`<tr key=${name(row)}>${columns.map((c) => html`<td class=${c.kind ?? ""} data-label=${c.label ? c.title : null}>${c.cell(row)}</td>`)}</tr>`)}</tbody>
</table></div>`;
