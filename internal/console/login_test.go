package console_test

import (
	"context"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/console"
	"dragoman/internal/people"

	"github.com/chromedp/chromedp"
)

// unlinked is a channel that needs a phone.
func unlinked(t *testing.T) *phones {
	return &phones{
		list: []console.Channel{{Name: "whatsapp", Type: "whatsapp", Linkable: true, Status: channels.Status{State: channels.StateFailed, Reason: "needs_pairing"}}},
		link: func(ctx context.Context, _, _ string, show func(channels.Invitation)) (string, error) {
			show(channels.Invitation{Code: "ABCD-1234"})
			<-ctx.Done()
			return "", ctx.Err()
		},
	}
}

// Without a token one chats and sees what is to do; a one-time link gives the rest, once,
// and its secret is in no address.
func TestOneTimeLinkInTheBrowser(t *testing.T) {
	g := newGateway(t, "", sundial, func(o *console.Options) { o.Accounts = unlinked(t) })
	browser := chrome(t)
	v := visit(t, browser, 360, 740, true, "http://"+g.addr+"/#channels")
	v.until(state("Not linked"))
	v.until(cardSays + `.includes("dragoman console") && ` + card + `.querySelector("button") === null`)
	v.holds("channels without the right to link")
	v.until(`document.querySelector("#logout").hidden`)

	link := g.link()
	v.do(chromedp.Navigate(link))
	v.until(`location.pathname === "/" && location.hash === ""`)
	v.until(connected + ` && !document.querySelector("#logout").hidden`)
	v.do(click("#channels-open"))
	v.until(card + `.querySelector("button.main")?.textContent === "Show the QR code"`)

	again := visit(t, browser, 800, 600, false, link)
	again.until(`document.querySelector("#link-state").textContent.includes("was used")`)
	if address := js[string](again, "location.href"); strings.Contains(address, "link=") {
		t.Errorf("the address bar has %s, want the secret taken out", address)
	}
	again.holds("a link that was used")
}

// The page asks before a link ends somebody else's session.
func TestLinkAsksFirst(t *testing.T) {
	g := newGateway(t, token, sundial)
	_, secret, err := g.tokens.Create(t.Context(), people.NewToken{Name: "ann", Person: "telegram:42", Scope: people.Chat})
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, chrome(t), 360, 740, true, "http://"+g.addr+"/login")
	v.until(`document.readyState === "complete" && document.activeElement?.id === "token"`)
	v.keys(secret + "\r")
	v.until(connected)
	const asks = `document.querySelector("#link-state").textContent.includes("ann") && !document.querySelector("#with-link button").hidden`
	v.do(chromedp.Navigate(g.link()))
	v.until(asks)
	v.holds("the question")
	v.do(click("#with-link a"))
	v.until(connected)
	if got := js[string](v, `fetch("/api/session").then((r) => r.json()).then((s) => s.person)`); got != "telegram:42" {
		t.Errorf("after 'keep' the session is of %s", got)
	}
	v.do(chromedp.Navigate(g.link()))
	v.until(asks)
	v.do(click("#with-link button"))
	v.until(connected)
	if got := js[string](v, `fetch("/api/session").then((r) => r.json()).then((s) => s.person + " " + s.scope)`); got != "operator admin" {
		t.Errorf("after 'log in' the session is of %s", got)
	}
}
