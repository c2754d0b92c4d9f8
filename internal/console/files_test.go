package console_test

import (
	"testing"
)

// chosen makes a DataTransfer of a picture, a text and a page with a script.
const chosen = `(() => {
	const dot = Uint8Array.from(atob("R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="), (c) => c.charCodeAt(0));
	const d = new DataTransfer();
	d.items.add(new File([dot], "dot.gif", { type: "image/gif" }));
	d.items.add(new File(["hello"], "<b>notes</b>.txt", { type: "text/plain" }));
	d.items.add(new File(["<script>parent.document.title='taken'</script>"], "fake.png", { type: "image/png" }));
	return d;
})()`

// Files are dropped, chosen or pasted, sent with or without text, and shown: pictures as
// pictures, everything else as a link.
func TestFilesInTheBrowser(t *testing.T) {
	g := newGateway(t, "", func(q string) string { return "You said: " + q })
	v := visit(t, chrome(t), 360, 740, true, "http://"+g.addr+"/old")
	v.until(connected)
	v.until(`!document.querySelector("#attach").hidden`)
	js[bool](v, `(document.dispatchEvent(new DragEvent("drop", { dataTransfer: `+chosen+`, bubbles: true, cancelable: true })), true)`)
	v.until(`[...document.querySelectorAll("#attached li span")].map((s) => s.textContent).join() === "dot.gif · 37 bytes,<b>notes</b>.txt · 5 bytes,fake.png · 46 bytes"`)
	v.fits()
	v.do(click(`#send`))
	v.until(`document.querySelector("li.person .sent img")?.naturalWidth === 1`)
	v.until(`[...document.querySelectorAll("li.person .sent li")].slice(1).map((s) => s.textContent).join() === "<b>notes</b>.txt · 5 bytes,fake.png · 46 bytes"`)
	v.until(`document.querySelector("#attached").hidden && document.title !== "taken"`)
	v.until(answers + ` === 1`)
	v.fits()

	js[bool](v, `(() => { const i = document.querySelector("#files"); i.files = `+chosen+`.files; i.dispatchEvent(new Event("change")); return true; })()`)
	v.until(`document.querySelectorAll("#attached li").length === 3 && !document.querySelector("#send").disabled`)
	v.do(click(`#attached button[aria-label="Remove fake.png"]`))
	js[bool](v, `(document.querySelector("#text").dispatchEvent(new ClipboardEvent("paste", { clipboardData: `+chosen+`, bubbles: true, cancelable: true })), true)`)
	v.until(`document.querySelectorAll("#attached li").length === 5 && !document.querySelector("#send").disabled`)
	js[bool](v, `(() => { const d = new DataTransfer(); d.items.add(new File([new Uint8Array(2 << 20)], "big.bin")); document.dispatchEvent(new DragEvent("drop", { dataTransfer: d })); return true; })()`)
	v.until(`document.querySelector("#file-problem").textContent === "big.bin is too large: at most 1.0 MB fit."`)
	v.keys("look\r")
	v.until(answers + ` === 2`)
	v.until(`[...document.querySelectorAll("li.person")].at(-1).querySelectorAll(".sent li").length === 5`)
	v.until(`document.querySelector("#file-problem").hidden`)
}
