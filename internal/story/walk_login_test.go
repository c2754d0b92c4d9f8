package story_test

import (
	"context"
	"strings"
	"testing"

	"dragoman/internal/api"

	"github.com/chromedp/chromedp"
)

// stranger opens a tab for somebody who is not logged in. That the page is refused then is
// no trouble.
func (d *daemon) stranger(browser context.Context) *walker {
	w := d.walker(browser, "")
	w.expect(unauthorised, conflicting)
	return w
}

// link is a one-time link to the page.
func (d *daemon) link() string {
	d.t.Helper()
	link, err := api.MakeConsoleLink.Call(d.t.Context(), d.admin, api.None{})
	if err != nil {
		d.t.Fatal(err)
	}
	return link.URL
}

// is waits for the address of the page.
func (w *walker) is(path string) {
	w.t.Helper()
	w.until("the address "+path, `location.pathname + location.search + location.hash === "`+path+`"`)
}

// Whoever is not logged in gets the login, which says what was wrong with an attempt, and
// leads back to where they were. Log out ends the session.
func TestWalkLogin(t *testing.T) {
	pageKit(t)
	d := newHouse(t, plan{rest: `http: {listen: "127.0.0.1:0", token: "` + pageToken + `"}`}).start()
	w := d.stranger(chromium(t))
	w.do(chromedp.Navigate(w.site + "/talk/new"))
	w.is("/login?to=%2Ftalk%2Fnew")
	w.until("the field to have the focus", `document.readyState === "complete" && document.activeElement?.id === "token"`)
	w.press("not the token\r")
	w.reads("That is not the token.")
	w.until("an empty field with the focus", `document.activeElement?.id === "token" && document.activeElement.value === "" && document.activeElement.getAttribute("aria-invalid") === "true"`)
	w.everyWidth("the login")
	w.press(pageToken + "\r")
	w.is("/talk/new")
	w.find("textbox", "Write a message")
	w.click("button", "Log out")
	w.is("/login")
	w.do(chromedp.Navigate(w.site + "/talk"))
	w.is("/login?to=%2Ftalk")
	w.press(pageToken + "\r")
	w.is("/talk")
	w.refusedWhileLeaving()
}

// refusedWhileLeaving logs out with a browser that takes its time: what the page is refused
// meanwhile must not lead to the login of somebody who only lost their session.
func (w *walker) refusedWhileLeaving() {
	w.t.Helper()
	w.expect(unauthorised)
	w.find("button", "Log out")
	asks[bool](w, `(navigation.addEventListener("navigate", (e) => { window.led = e.destination.url; }),
		document.querySelector("form[action='/logout']").addEventListener("submit", (e) => e.preventDefault()), true)`)
	w.click("button", "Log out")
	led := asks[string](w, `fetch("/logout", { method: "POST", redirect: "manual" })
		.then(() => import(new URL("api.js", document.querySelector("script[type=module]").src)))
		.then((page) => page.get("me").then(() => "still logged in", () => window.led ?? ""))`)
	if led != "" {
		w.t.Errorf("a refusal leads to %q while the browser is on its way to the login", led)
	}
}

// A one-time link opens the page once, and its secret is in no address. Before it ends
// somebody else's session, the page asks.
func TestWalkOneTimeLink(t *testing.T) {
	pageKit(t)
	d := newHouse(t, plan{rest: `http: {listen: "127.0.0.1:0", token: "` + pageToken + `"}`}).start()
	browser := chromium(t)
	w := d.stranger(browser)
	link := d.link()
	w.do(chromedp.Navigate(link))
	w.is("/talk")
	w.find("button", "Log out")

	again := d.stranger(browser)
	again.do(chromedp.Navigate(link))
	again.reads("was used, or is older than a minute")
	if address := asks[string](again, "location.href"); strings.Contains(address, "link=") {
		t.Errorf("the address bar has %s, want the secret taken out", address)
	}
	again.find("textbox", "Token") // the other way in
	again.everyWidth("a link that was used")

	made, err := api.CreateToken.Call(t.Context(), d.admin, api.NewToken{Name: "ann", Scope: "chat", Person: "telegram:71"})
	if err != nil {
		t.Fatal(err)
	}
	again.types("Token", made.Secret+"\r")
	again.is("/talk")
	again.do(chromedp.Navigate(d.link()))
	again.reads("Somebody else is logged in here: ann.")
	again.everyWidth("the question")
	again.click("link", "Keep that session")
	again.is("/talk")
	const who = `fetch("/api/v1/me").then((r) => r.json()).then((me) => me.person + " " + me.scope)`
	if got := asks[string](again, who); got != "telegram:71 chat" {
		t.Errorf("after 'keep' the session is of %s", got)
	}
	again.do(chromedp.Navigate(d.link()))
	again.click("button", "Log in instead")
	again.is("/talk")
	if got := asks[string](again, who); got != "operator admin" {
		t.Errorf("after 'log in' the session is of %s", got)
	}
}

// The login speaks the browser's language.
func TestWalkLoginInGerman(t *testing.T) {
	pageKit(t)
	d := newHouse(t, plan{rest: `http: {listen: "127.0.0.1:0", token: "` + pageToken + `"}`}).start()
	w := d.stranger(chromium(t))
	w.do(chromedp.Navigate(w.site + "/login"))
	w.until("the page", `document.readyState === "complete"`)
	asks[bool](w, `(localStorage.setItem("dragoman.language", '"de"'), true)`)
	w.do(chromedp.Reload())
	w.find("button", "Anmelden")
}
