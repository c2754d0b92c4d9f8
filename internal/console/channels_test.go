package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/console"
	"dragoman/internal/people"

	"github.com/google/go-cmp/cmp"
	"rsc.io/qr"
)

// phones stands in for the daemon's channels; link and unlink are its behaviour.
type phones struct {
	list   []console.Channel
	link   func(ctx context.Context, name, phone string, show func(channels.Invitation)) (string, error)
	unlink func(ctx context.Context, name string) (bool, error)

	admin string // the header that lets one link, once serve has run
}

func (p *phones) Channels() []console.Channel { return p.list }

func (p *phones) Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (string, error) {
	return p.link(ctx, name, phone, show)
}

func (p *phones) Unlink(ctx context.Context, name string) (bool, error) { return p.unlink(ctx, name) }

// serve serves a page with these channels, and returns its address.
func (p *phones) serve(t *testing.T, within time.Duration) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	e := enter(t, srv.Listener.Addr().String(), "", newTokens(t, ""), console.Options{Chat: chat, Accounts: p, LinkWithin: within})
	p.admin = e.admin()
	srv.Config.Handler = e
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL
}

// line is one line that the page reads.
type line struct {
	QR *struct {
		Size int
		Path string
	}
	Code, Account, Error string
	Expired              bool
}

// visitLink starts linking and returns the lines as they arrive.
func visitLink(t *testing.T, ctx context.Context, p *phones, url, body string) (next func() line, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(p.admin, ": ")
	r.Header.Set(name, value)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close(); http.DefaultClient.CloseIdleConnections() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("linking = %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() (l line) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the answer ended: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		return l
	}, resp.Header
}

// await receives with a timeout.
func await[T any](t *testing.T, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(30 * time.Second):
		t.Fatal("waited in vain")
	}
	return got
}

// modules parses a path of rectangles: true is dark.
func modules(t *testing.T, size int, path string) [][]bool {
	t.Helper()
	got := make([][]bool, size)
	for y := range got {
		got[y] = make([]bool, size)
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(path, "z"), "z") {
		var x, y, run, back int
		if _, err := fmt.Sscanf(part, "M%d %dh%dv1h-%d", &x, &y, &run, &back); err != nil || run != back {
			t.Fatalf("%q is no rectangle: %v", part, err)
		}
		for i := range run {
			got[y][x+i] = true
		}
	}
	return got
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

func TestChannelsList(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := &phones{list: []console.Channel{{
		Name: "whatsapp", Type: "whatsapp", Linkable: true,
		Status: channels.Status{State: channels.StateFailed, Reason: "needs_pairing", Detail: "needs pairing: run this", Since: since},
	}}}
	c := open(t, "", console.Options{Accounts: p})
	w := ask(c, "GET", console.ChannelsPath, nil)
	const want = `{"channels":[{"name":"whatsapp","type":"whatsapp","linkable":true,"state":"failed","reason":"needs_pairing","detail":"needs pairing: run this","since":"2026-03-01T12:00:00Z"}],"may_link":false}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != want || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("list = %d %s, want %s", w.Code, got, want)
	}
	p.list = nil
	if got := strings.TrimSpace(ask(c, "GET", console.ChannelsPath, nil).Body.String()); got != `{"channels":[],"may_link":false}` {
		t.Errorf("list of nothing = %s", got)
	}
	for who, tt := range map[string]struct {
		header string
		code   int
		want   string
	}{
		"who may link":           {c.admin(), 200, `"may_link":true`},
		"the operator's chat":    {"Authorization: Bearer " + c.token("phone", "", people.Chat), 200, `"may_link":false`},
		"another person":         {"Authorization: Bearer " + c.token("ann", "telegram:42", people.Chat), 403, "insufficient_scope"},
		"another person's graph": {"Authorization: Bearer " + c.token("graph", "telegram:42", people.Read), 200, `"may_link":false`},
	} {
		if w := ask(c, "GET", console.ChannelsPath, nil, tt.header); w.Code != tt.code || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s reads %d %s, want %d %s", who, w.Code, w.Body, tt.code, tt.want)
		}
	}
}

// Only those who may use the page can reach the accounts, and other sites cannot change
// anything.
func TestChannelsAreGuarded(t *testing.T) {
	p := &phones{
		link: func(context.Context, string, string, func(channels.Invitation)) (string, error) {
			t.Error("Link was reached")
			return "", nil
		},
		unlink: func(context.Context, string) (bool, error) {
			t.Error("Unlink was reached")
			return true, nil
		},
	}
	for _, tok := range []string{"", token} {
		c := open(t, tok, console.Options{Accounts: p})
		attempts := [][]string{
			{"Origin: http://evil.example"},
			{"Sec-Fetch-Site: cross-site"},
			{"Sec-Fetch-Site: same-site"},
			{}, // says nothing of where it comes from
		}
		if tok == "" {
			attempts = append(attempts, []string{"X-Dragoman: 1"}, []string{"Origin: http://127.0.0.1:8787"}) // the open port only chats
		} else {
			attempts = append(attempts, []string{"X-Dragoman: 1"}, []string{"Authorization: Bearer not it, and longer"}, []string{"Authorization: Bearer " + token})
		}
		for _, headers := range attempts {
			for _, path := range []string{"/whatsapp/link", "/whatsapp/unlink"} {
				if w := ask(c, "POST", console.ChannelsPath+path, strings.NewReader("{}"), headers...); w.Code != 403 && w.Code != 401 {
					t.Errorf("token %t: %s with %q = %d, want a refusal", tok != "", path, headers, w.Code)
				}
				if w := ask(c, "GET", console.ChannelsPath+path, nil, append(headers, "X-Dragoman: 1")...); w.Code < 400 {
					t.Errorf("token %t: GET %s with %q = %d, want that only POST changes something", tok != "", path, headers, w.Code)
				}
			}
		}
		if w := ask(c, "GET", console.ChannelsPath, nil, "Sec-Fetch-Site: cross-site"); w.Code < 400 {
			t.Errorf("token %t: another site reads the list: %d", tok != "", w.Code)
		}
	}
}

// The picture shows the code, a new code replaces it, and the last line names the account.
func TestLinkShowsWhatIsToBeScanned(t *testing.T) {
	codes := []string{"https://wa.me/settings/linked_devices#2@" + strings.Repeat("abcdefgh", 28), "another code"}
	p := &phones{link: func(_ context.Context, name, phone string, show func(channels.Invitation)) (string, error) {
		if name != "my phone" || phone != "" {
			t.Errorf("Link(%q, %q)", name, phone)
		}
		for _, text := range codes {
			show(channels.Invitation{QR: text})
		}
		return "+15550000001", nil
	}}
	next, header := visitLink(t, t.Context(), p, p.serve(t, 0)+console.ChannelsPath+"/my%20phone/link", "{}")
	if got := header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q, want no-store: a code is a credential", got)
	}
	for _, text := range codes {
		l := next()
		if l.QR == nil {
			t.Fatalf("line = %+v, want a picture", l)
		}
		if diff := cmp.Diff(modulesOf(t, text), modules(t, l.QR.Size, l.QR.Path)); diff != "" {
			t.Errorf("modules (-want +got):\n%s", diff)
		}
	}
	if l := next(); l.Account != "+15550000001" {
		t.Errorf("the end = %+v, want the account", l)
	}
}

func TestLinkByCode(t *testing.T) {
	p := &phones{link: func(_ context.Context, _, phone string, show func(channels.Invitation)) (string, error) {
		show(channels.Invitation{Code: "ABCD-1234"})
		return phone, nil
	}}
	next, _ := visitLink(t, t.Context(), p, p.serve(t, 0)+console.ChannelsPath+"/whatsapp/link", `{"phone": " +1 555 "}`)
	if l := next(); l.Code != "ABCD-1234" || l.QR != nil {
		t.Errorf("line = %+v, want the code", l)
	}
	if l := next(); l.Account != "+1 555" {
		t.Errorf("the end = %+v, want the number as it was written", l)
	}
}

func TestLinkEnds(t *testing.T) {
	ended := make(chan error, 1)
	p := &phones{link: func(ctx context.Context, _, phone string, show func(channels.Invitation)) (string, error) {
		if phone != "" {
			return "", errors.New("whatsapp: link: that phone's WhatsApp is too old; update it")
		}
		show(channels.Invitation{QR: "a code"})
		<-ctx.Done()
		ended <- ctx.Err()
		return "", fmt.Errorf("whatsapp: link: %w", context.Cause(ctx))
	}}
	url := p.serve(t, 0) + console.ChannelsPath + "/whatsapp/link"
	ctx, leave := context.WithCancel(t.Context())
	next, _ := visitLink(t, ctx, p, url, "{}")
	next()
	leave()
	if err := await(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("when the page is closed Link's context = %v", err)
	}
	brief := *p
	next, _ = visitLink(t, t.Context(), &brief, brief.serve(t, 20*time.Millisecond)+console.ChannelsPath+"/whatsapp/link", "{}")
	next()
	if l := next(); !l.Expired || l.Error != "" {
		t.Errorf("the end = %+v, want that it expired", l)
	}
	await(t, ended)
	next, _ = visitLink(t, t.Context(), p, url, `{"phone": "+1"}`)
	if l := next(); l.Error != "That phone's WhatsApp is too old; update it" {
		t.Errorf("the end = %+v, want the reason, for people", l)
	}
}

func TestUnlink(t *testing.T) {
	var fail error
	p := &phones{unlink: func(_ context.Context, name string) (bool, error) { return name == "near", fail }}
	c := open(t, "", console.Options{Accounts: p})
	admin := c.admin()
	unlink := func(name string) string {
		w := ask(c, "POST", console.ChannelsPath+"/"+name+"/unlink", strings.NewReader("{}"), admin)
		return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
	}
	if got := unlink("near"); got != `200 {"told":true}` {
		t.Errorf("unlink = %s", got)
	}
	if got := unlink("far"); got != `200 {"told":false}` {
		t.Errorf("unlink of what cannot be told = %s", got)
	}
	fail = errors.New("whatsapp: unlink: éa: no")
	if got := unlink("near"); got != `409 {"error":{"message":"Éa: no","type":"invalid_request_error","param":null,"code":"conflict"}}` {
		t.Errorf("unlink that fails = %s", got)
	}
	if w := ask(c, "POST", console.ChannelsPath+"/near/link", strings.NewReader("not JSON"), admin); w.Code != 400 {
		t.Errorf("a body that is none = %d, want 400", w.Code)
	}
	if w := ask(c, "POST", console.ChannelsPath+"/near/link", strings.NewReader(`{"phone": "`+strings.Repeat("1", 1<<16)+`"}`), admin); w.Code != 400 {
		t.Errorf("a body that is too long = %d, want 400", w.Code)
	}
}
