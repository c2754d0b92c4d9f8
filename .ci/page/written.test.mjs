// An answer that is written while pages come and go is read as it was said.
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

const { withPiece, withBeginning } = await import(path.join(import.meta.dirname, "../../internal/console/app/js/written.js"));

const pieces = ["Let ", "me look 😀", " at", " it.", " Well", "!"];
const whole = pieces.join("");
/** Where each piece begins. */
const offsets = pieces.map((_, i) => pieces.slice(0, i).join("").length);

test("pieces from the beginning on", () => {
  assert.deepEqual(pieces.reduce((written, piece, i) => withPiece(written, piece, offsets[i]), { text: "", from: 0 }), { text: whole, from: 0 });
});

// Whoever opens the page hears pieces from first on. The server's reading has the text after
// so many pieces, and comes after so many were heard.
for (let first = 0; first <= pieces.length; first++) {
  for (let read = 0; read <= pieces.length; read++) {
    for (let came = Math.max(first, read); came <= pieces.length; came++) {
      test(`heard from ${first} on, read at ${read}, which came at ${came}`, () => {
        let written = { text: "" };
        for (let i = first; i < pieces.length; i++) {
          if (i === came) written = withBeginning(written, pieces.slice(0, read).join(""));
          written = withPiece(written, pieces[i], offsets[i]);
        }
        if (came === pieces.length) written = withBeginning(written, pieces.slice(0, read).join(""));
        const gap = read < first; // what came between is missing: the page reads again
        assert.deepEqual(written, gap && first < pieces.length ? { text: pieces.slice(first).join(""), from: offsets[first] } : gap ? { text: pieces.slice(0, read).join(""), from: 0 } : { text: whole, from: 0 });
        assert.deepEqual(withBeginning(written, whole), { text: whole, from: 0 });
      });
    }
  }
}

test("a piece that comes twice", () => assert.deepEqual(withPiece({ text: "abcd", from: 2 }, "cd", 4), { text: "abcd", from: 2 }));
test("a piece after a gap", () => assert.deepEqual(withPiece({ text: "ab", from: 0 }, "x", 5), { text: "x", from: 5 }));
test("an older reading after the text began anew", () => assert.deepEqual(withBeginning({ text: "No.", from: 0 }, "Well, maybe"), { text: "No.", from: 0 }));
