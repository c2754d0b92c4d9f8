package story_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// drops gives the composer two pictures, as if they were dropped on it.
const drops = `(async () => {
	const transfer = new DataTransfer();
	for (const [name, colour] of [["garden.png", "seagreen"], ["wall.png", "peru"]]) {
		const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 480 });
		const pen = canvas.getContext("2d");
		pen.fillStyle = colour;
		pen.fillRect(0, 0, 640, 480);
		const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
		transfer.items.add(new File([blob], name, { type: "image/png" }));
	}
	document.querySelector(".composer").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
	return true;
})()`

// lightboxShows is the name of the picture in the lightbox, once it is drawn.
const lightboxShows = `(document.querySelector("dialog.lightbox[open] img")?.naturalWidth > 0 && document.querySelector("dialog.lightbox img").alt)`

// Somebody sends pictures and looks at them large, with the keyboard; and records a voice
// message, and hears it.
func TestWalkMedia(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/web:default")
	w.find("textbox", "Write a message")
	asks[bool](w, drops)
	w.until("two files with their sizes", `document.querySelectorAll("ul.attached small").length === 2 && !document.querySelector("ul.attached .spin")`)
	w.types("Write a message", "What grows there?")
	w.press(kb.Enter)
	w.until("both pictures", `[...document.querySelectorAll(".shows img")].filter((img) => img.naturalWidth === 640).length === 2`)
	if !asks[bool](w, `document.querySelector(".shows").getBoundingClientRect().right < document.querySelectorAll(".shows")[1].getBoundingClientRect().left`) {
		t.Error("two pictures of a message are not beside one another")
	}
	asks[bool](w, `(document.querySelector(".shows").focus(), true)`)
	w.press(kb.Enter)
	w.until("the first picture", lightboxShows+` === "garden.png"`)
	w.accessible("the lightbox")
	w.picture("lightbox")
	if !asks[bool](w, `[...document.querySelectorAll(".picture, .lightbox img")].every((img) => getComputedStyle(img).backgroundColor === "rgb(255, 255, 255)")`) {
		t.Error("a drawing on nothing cannot be seen in the dark")
	}
	w.press(kb.ArrowRight)
	w.until("the second picture", lightboxShows+` === "wall.png"`)
	w.press(kb.ArrowRight)
	w.press(kb.ArrowLeft)
	w.until("the first picture again", lightboxShows+` === "garden.png"`)
	w.press(kb.Escape)
	w.until("the focus where it was", `!document.querySelector("dialog.lightbox") && document.activeElement === document.querySelector(".shows")`)

	w.click("button", "Record a voice message")
	w.until("two seconds of sound", `document.querySelector("[role=timer]")?.textContent >= "0:02" && document.querySelectorAll(".recorder rect").length > 10`)
	w.picture("recorder")
	w.press(kb.Escape)
	w.until("nothing to be kept", `!document.querySelector(".recorder") && !document.querySelector("ul.attached")`)
	w.click("button", "Record a voice message")
	w.until("two seconds more", `document.querySelector("[role=timer]")?.textContent >= "0:02"`)
	w.accessible("the recorder")
	w.click("button", "Attach the recording")
	w.until("the recording to be there", `document.querySelector("ul.attached small") && !document.querySelector("ul.attached .spin")`)
	w.click("button", "Send (Enter)")
	w.until("a wave of it and its length", `document.querySelectorAll(".voice rect").length > 10 && /^0:00 . 0:0[1-9]$/.test(document.querySelector(".voice .num").textContent)`)
	w.accessible("a voice message")
	w.click("button", "Play")
	w.until("sound", `document.querySelector("audio").currentTime > 0.5`)
	w.find("button", "Pause")
	w.picture("voice")
	w.do(chromedp.EmulateViewport(360, 800, chromedp.EmulateMobile, chromedp.EmulateTouch))
	w.fits("pictures and voice at 360")
	w.picture("voice-360")
}
