//go:build !nowhatsapp

package console_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/internal/console"

	"github.com/chromedp/chromedp"
)

// To make the pictures in docs/images:
// DRAGOMAN_PICTURES=$PWD/docs/images go test -run TestPictures ./internal/console
func TestPictures(t *testing.T) {
	if os.Getenv("DRAGOMAN_PICTURES") == "" {
		t.Skip("DRAGOMAN_PICTURES names no folder to write to")
	}
	since := time.Now().Add(-3 * time.Hour)
	p := &phones{
		list: []console.Channel{
			{Name: "libera", Type: "irc", Status: channels.Status{State: channels.StateConnected, Since: since}},
			{Name: "telegram", Type: "telegram", Status: channels.Status{State: channels.StateConnected, Since: since}},
			{Name: "whatsapp", Type: "whatsapp", Linkable: true, Status: channels.Status{
				State: channels.StateFailed, Reason: "needs_pairing", Detail: "needs pairing: this device is not linked to a phone; run: dragoman login whatsapp", Since: since.Add(150 * time.Minute),
			}},
		},
		link: func(ctx context.Context, _, _ string, show func(channels.Invitation)) (string, error) {
			show(channels.Invitation{QR: "https://wa.me/settings/linked_devices#2@this-picture-links-nothing," + strings.Repeat("example", 30)})
			<-ctx.Done()
			return "", ctx.Err()
		},
	}
	g := newGateway(t, "", func(string) string { return "" }, func(o *console.Options) { o.Accounts = p })
	browser := chrome(t)
	at := time.Now().Add(-5 * time.Minute)
	for i, text := range []string{
		"Which bread keeps longest?",
		"**Rye sourdough**: the acid keeps mould away and the crumb holds its water.\n\n" +
			"| Bread | Keeps for | Store it |\n|---|---|---|\n| Rye sourdough | 7 to 10 days | in linen |\n| Wheat sourdough | 4 to 5 days | in linen |\n| Baguette | 1 day | eat it |",
		"Write me a line of shell that lists the flour I bought",
		"```sh\ngrep -i flour ~/receipts/*.txt | sort | uniq -c\n```\n\nThe number before each line says how often.",
		"Remember that my starter is called Bruno",
		"Noted: **Bruno** is your starter. I will know it tomorrow, too.",
	} {
		it := live.Item{ID: "seen-" + string(rune('a'+i)), From: live.FromPerson, Text: text, At: at.Add(time.Duration(i) * time.Minute)}
		if i%2 == 1 {
			it.From = live.FromDragoman
		}
		g.mu.Lock()
		g.put(it)
		g.mu.Unlock()
	}
	for _, c := range []struct {
		name, scheme  string
		width, height int64
		phone         bool
	}{
		{"chat", "light", 1440, 900, false},
		{"chat-768", "dark", 768, 900, false},
		{"chat-360", "dark", 360, 720, true},
		{"chat-320", "light", 320, 640, true},
	} {
		v := visit(t, browser, c.width, c.height, c.phone, "http://"+g.addr+"/old")
		v.scheme(c.scheme)
		v.until(connected + ` && ` + answers + ` === 3`)
		v.picture(c.name)
		if c.name == "chat" {
			v.do(chromedp.Navigate(g.link()))
			v.until(connected)
			v.do(click("#channels-open"))
			v.until(state("Not linked"))
			v.do(click("[data-channel=whatsapp] .main"))
			v.until(code)
			v.picture("channels")
		}
	}
}
