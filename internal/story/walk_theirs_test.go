package story_test

import (
	"testing"

	"dragoman/internal/api"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// What somebody could not send stays theirs: whoever logs in after them in the same browser
// neither sees nor sends it, and it is sent when they are back.
func TestWalkWhatIsWrittenIsTheirs(t *testing.T) {
	pageKit(t)
	d := newHouse(t, plan{rest: `http: {listen: "127.0.0.1:0", token: "` + pageToken + `"}`}).start()
	ann, err := api.CreateToken.Call(t.Context(), d.admin, api.NewToken{Name: "ann", Scope: "chat", Person: "telegram:71"})
	if err != nil {
		t.Fatal(err)
	}
	w := d.stranger(chromium(t))
	arrive := func(secret string) {
		w.do(chromedp.Navigate("about:blank")) // the page itself leaves for /login once it is logged out
		call(w, network.ClearBrowserCookies, cdp.Empty{})
		w.do(chromedp.Navigate(w.site + "/login"))
		w.types("Token", secret+"\r")
		w.is("/talk")
	}
	arrive(ann.Secret)
	w.open("/talk/new")
	w.find("textbox", "Write a message")
	asks[bool](w, `(window.fetch = ((f) => (u, o) => o?.method === "POST" ? Promise.reject(new TypeError("away")) : f(u, o))(fetch), true)`)
	w.types("Write a message", "Only mine\r")
	w.reads("Not sent yet. It is saved and will be sent.")
	w.types("Write a message", "half a draft")
	place := asks[string](w, "location.pathname")

	arrive(pageToken)
	w.open("/talk/new")
	w.types("Write a message", "I am somebody else\r")
	w.reads("echo: I am somebody else")
	w.until("only the message of somebody else to be kept", `Object.keys(localStorage).filter((name) => name.includes("unsent")).length === 1`)
	w.do(chromedp.Navigate(w.site + place))
	w.until("no draft of somebody else", `!document.body.innerText.includes("Only mine") && (document.querySelector("#text")?.value ?? "") === ""`)

	arrive(ann.Secret)
	w.do(chromedp.Navigate(w.site + place))
	w.reads("echo: Only mine")
	w.until("the draft", `document.querySelector("#text").value === "half a draft"`)
}
