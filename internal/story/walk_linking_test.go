package story_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"dragoman/internal/api"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"rsc.io/qr"
)

// overhear keeps what the page is told while it links in window.told, and in window.over
// that the answer has ended.
const overhear = `(window.told = "", window.over = 0, window.fetch = ((f) => async (address, o) => {
	const answer = await f(address, o);
	if (!String(address).endsWith("/link") || o?.method !== "POST" || !answer.body) return answer;
	const [page, copy] = answer.body.tee();
	(async () => {
		try {
			for await (const part of copy.pipeThrough(new TextDecoderStream())) window.told += part;
		} catch {}
		window.over++;
	})();
	return new Response(page, { status: answer.status, headers: answer.headers });
})(fetch), true)`

// lastCode is the text of the QR code that the page was told last.
const lastCode = `JSON.parse(window.told.trim().split("\n").findLast((line) => line.includes('"qr"')) ?? "{}").qr ?? ""`

const focused = `(document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent)`

// A person links a phone with its camera, and logs it out. On a phone they see the code, and
// link by number instead. A code is on the page only as long as the view.
func TestWalkLinking(t *testing.T) {
	pageKit(t)
	d := newWhatsApp(t)
	d.begin()
	d.sees(notLinked)
	w := d.walker(chromium(t), d.linked())
	w.open("/channels")
	asks[bool](w, overhear)
	w.reads("Not linked")
	w.click("button", "Show the QR code")
	w.until("a code", `document.querySelector("svg.qr")`)
	w.until("the focus beside the code", focused+` === "Use a phone number instead"`)
	text := asks[string](w, lastCode)
	want := modulesOf(t, text)
	if diff := cmp.Diff(want, w.seen(len(want))); diff != "" {
		t.Errorf("the picture is not the code (-want +got):\n%s", diff)
	}
	w.everyWidth("a code to scan")
	w.resize(1440, 900)
	if err := d.server.Scan(w.ctx, asks[string](w, lastCode)); err != nil {
		t.Fatalf("the phone does not take the code: %v", err)
	}
	w.reads("Linked to " + d.server.Owner().Number() + ".")
	w.reads("Connected for")
	w.until("no code, and the focus on what can be done", `!document.querySelector("svg.qr") && `+focused+` === "Log out …"`)
	d.answers("hello")

	w.press("\r")
	w.until("the careful answer to have the focus", focused+` === "Keep it"`)
	w.everyWidth("the question whether to log out")
	w.press("\r")
	w.until("the button again", focused+` === "Log out …"`)
	w.press("\r")
	w.click("button", "Log out") // the first is in the card
	w.reads("Logged out.")
	w.reads("Not linked")

	w.resize(360, 740)
	w.click("button", "Use a phone number")
	w.types("The phone's number, with its country code", d.server.Owner().Number()+"\r")
	w.until("a code to type", `document.querySelector("output.typed")?.textContent.length === 9`)
	w.everyWidth("a code to type")
	if err := d.server.EnterCode(w.ctx, asks[string](w, `document.querySelector("output.typed").textContent`)); err != nil {
		t.Fatalf("the phone does not take the code: %v", err)
	}
	w.reads("Linked to " + d.server.Owner().Number() + ".")
	if said := d.out.String(); strings.Contains(said, text) || codeForm.MatchString(said) {
		t.Errorf("the daemon wrote a code down:\n%s", said)
	}
}

// The page says why there is no code, and when one has expired. A code ends with the view.
func TestWalkCodesComeAndGo(t *testing.T) {
	pageKit(t)
	d := newWhatsApp(t)
	d.begin()
	d.sees(notLinked)
	w := d.walker(chromium(t), d.linked())
	w.open("/channels")
	w.expect("Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)") // a number that is none is refused
	w.click("button", "Use a phone number")
	w.types("The phone's number, with its country code", "0170 123\r")
	w.reads("The number must be complete")
	w.until("the way out to have the focus", focused+` === "Try again"`)
	w.click("button", "Cancel")
	asks[bool](w, overhear)
	w.click("button", "Show the QR code")
	w.until("a code", `document.querySelector("svg.qr")`)
	w.click("link", "Talk")
	w.until("the request to have ended", `window.over === 1 && location.pathname === "/talk"`)
	w.click("link", "Channels")
	asks[bool](w, `(window.fetch = ((f) => (address, o) => o?.method === "POST" && String(address).endsWith("/link") ?
		Promise.resolve(new Response('{"failure":{"error":"the time to link it has run out","code":"expired"}}\n')) : f(address, o))(fetch), true)`)
	w.click("button", "Show the QR code")
	w.reads("The code has expired.")
	w.until("the next code to be a key away", focused+` === "Show a new code"`)

	// Whoever may only talk sees what is to do, and where.
	made, err := api.CreateToken.Call(t.Context(), d.admin, api.NewToken{Name: "phone", Scope: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	guest := d.stranger(chromium(t))
	guest.do(chromedp.Navigate(guest.site + "/login?to=/channels"))
	guest.types("Token", made.Secret+"\r")
	guest.reads("To link a phone, open the page that “dragoman console” prints")
	if n := asks[int](guest, `document.querySelectorAll("main .card button").length`); n != 0 {
		t.Errorf("there are %d buttons in the cards, want none", n)
	}
	guest.everyWidth("channels without the right to link")
}

func modulesOf(t *testing.T, text string) [][]bool {
	t.Helper()
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	want := make([][]bool, code.Size)
	for y := range want {
		want[y] = make([]bool, code.Size)
		for x := range want[y] {
			want[y][x] = code.Black(x, y)
		}
	}
	return want
}

// seen reads the code from a screenshot, as a phone would: the middle of each module, dark
// or light, inside a light border.
func (w *walker) seen(size int) [][]bool {
	w.t.Helper()
	type box struct{ Left, Top, Width, Scale float64 }
	at := asks[box](w, `(() => { const q = document.querySelector("svg.qr"); q.scrollIntoView({block: "nearest"}); const r = q.getBoundingClientRect();
		return {Left: r.left, Top: r.top, Width: r.width, Scale: devicePixelRatio}; })()`)
	shot, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		w.t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		w.t.Fatal(err)
	}
	const quiet = 4
	module := at.Width / float64(size+2*quiet)
	dark := func(x, y int) bool {
		px := (at.Left + (float64(x)+quiet+0.5)*module) * at.Scale
		py := (at.Top + (float64(y)+quiet+0.5)*module) * at.Scale
		return isDark(img, int(px), int(py))
	}
	got := make([][]bool, size)
	for y := range got {
		for x := range size {
			got[y] = append(got[y], dark(x, y))
		}
	}
	for i := -quiet; i < size+quiet; i++ {
		if dark(i, -2) || dark(i, size+1) || dark(-2, i) || dark(size+1, i) {
			w.t.Errorf("the border is not light at %d", i)
		}
	}
	return got
}

func isDark(img image.Image, x, y int) bool {
	r, g, b, _ := img.At(x, y).RGBA()
	return r+g+b < 3*0x8000
}
