package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/agent/mcp/mcptest"
	"dragoman/agent/mcp/oauth"
	"dragoman/sessions"
)

// notes is a store of notes in memory.
type notes struct {
	mu   sync.Mutex
	list map[string]sessions.Note
}

func (n *notes) Notes(_ context.Context, f sessions.NoteFilter) (list []sessions.Note, _ error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if note, found := n.list[f.Owner]; found {
		list = append(list, note)
	}
	return list, nil
}

func (n *notes) ChangeNotes(ctx context.Context, _, owner string, change func([]sessions.Note) ([]sessions.Note, []string, error)) error {
	have, _ := n.Notes(ctx, sessions.NoteFilter{Owner: owner})
	n.mu.Lock()
	defer n.mu.Unlock()
	put, remove, err := change(have)
	if len(remove) > 0 {
		delete(n.list, owner)
	}
	for _, note := range put {
		n.list[owner] = note
	}
	return err
}

// world is a server that wants a login, and what several nodes share.
type world struct {
	*mcptest.Login
	t     *testing.T
	url   string
	notes *notes
	lease sync.Mutex
	now   time.Time
	set   func(*oauth.Settings)
}

func newWorld(t *testing.T, l *mcptest.Login) *world {
	l.Client = "dragoman"
	l.Redirect = "http://127.0.0.1:1/callback"
	l.Tools = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "tools: %s", body)
	})
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	return &world{Login: l, t: t, url: s.URL, notes: &notes{list: map[string]sessions.Note{}}, now: time.Now(), set: func(*oauth.Settings) {}}
}

// node is the login as one node of several has it.
func (w *world) node() *oauth.Login {
	s := oauth.Settings{Server: "tickets", URL: w.url + "/mcp", ClientID: "dragoman", ClientSecret: w.Secret, Redirect: w.Redirect}
	w.set(&s)
	return oauth.New(s, oauth.Options{
		Notes: w.notes, Via: http.DefaultTransport, Now: func() time.Time { return w.now },
		Public: func(at netip.AddrPort) error { return fmt.Errorf("%s is not on the public internet", at.Addr()) },
		Hold: func(ctx context.Context, _ string, f func(context.Context) error) error {
			w.lease.Lock()
			defer w.lease.Unlock()
			return f(ctx)
		},
	})
}

// browse opens a link as a browser does, and returns the address that it is sent to.
func browse(t *testing.T, link string) string {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("the authorization server says %d: %s", resp.StatusCode, text)
	}
	return resp.Header.Get("Location")
}

// login logs in.
func (w *world) login(l *oauth.Login) error {
	link, err := l.Begin(w.t.Context())
	if err != nil {
		return err
	}
	return l.Finish(w.t.Context(), browse(w.t, link.URL))
}

// ask asks the server of tools, and returns what it says.
func (w *world) ask(l *oauth.Login) (string, error) {
	c := &http.Client{Transport: l.Over(http.DefaultTransport)}
	resp, err := c.Post(w.url+"/mcp", "application/json", strings.NewReader("hello"))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(text)), err
}

func (w *world) works(l *oauth.Login) {
	w.t.Helper()
	if got, err := w.ask(l); got != "200 tools: hello" || err != nil {
		w.t.Fatalf("the server says %q, %v", got, err)
	}
}

// needs checks that a person must log in, in those words.
func (w *world) needs(l *oauth.Login, words string) {
	w.t.Helper()
	_, err := w.ask(l)
	if _, is := errors.AsType[*oauth.NeedsLogin](err); !is || !strings.Contains(err.Error(), words+": say dragoman mcp login tickets") {
		w.t.Fatalf("the request = %v, want NeedsLogin because %s", err, words)
	}
	if st, err := l.State(w.t.Context()); err != nil || !strings.Contains(st.Why, words) {
		w.t.Fatalf("State = %+v, %v", st, err)
	}
}

func TestLogin(t *testing.T) {
	for _, secret := range []string{"", "s3cret"} {
		w := newWorld(t, &mcptest.Login{Life: 3600, Secret: secret})
		l := w.node()
		w.needs(l, "it needs a login")
		if err := w.login(l); err != nil {
			t.Fatal(err)
		}
		w.works(l)
		st, err := l.State(t.Context())
		if err != nil || st.Why != "" || !st.Renews || !st.Until.Equal(w.now.UTC().Add(time.Hour)) {
			t.Errorf("State = %+v, %v", st, err)
		}
		w.works(w.node()) // a restart
	}
}

// An answer works once, and only that to the newest link.
func TestAnswers(t *testing.T) {
	w := newWorld(t, &mcptest.Login{})
	l := w.node()
	if err := l.Finish(t.Context(), "http://127.0.0.1:1/callback?state=x&code=y"); err == nil {
		t.Error("an answer to no link is taken")
	}
	link, err := l.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer := browse(t, link.URL)
	for _, bad := range []string{"", "hello", "https://x.example/", link.URL + "#", strings.Repeat("x", 1<<20)} {
		if err := l.Finish(t.Context(), bad); !errors.Is(err, oauth.ErrNoAnswer) {
			t.Errorf("Finish(%.40q) = %v", bad, err)
		}
	}
	if err := l.Finish(t.Context(), "?state=other&code=1"); !errors.Is(err, oauth.ErrOther) {
		t.Errorf("another login's answer: %v", err)
	}
	_, query, _ := strings.Cut(answer, "?")
	if err := l.Finish(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	var needs *oauth.NeedsLogin
	if err := l.Finish(t.Context(), answer); !errors.As(err, &needs) {
		t.Errorf("an answer that was taken once: %v", err)
	}
	link, err = l.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer = browse(t, link.URL)
	w.now = w.now.Add(11 * time.Minute)
	if err := l.Finish(t.Context(), answer); err == nil {
		t.Error("an answer is taken after ten minutes")
	}
}

// A code that somebody else has used, too, gives nothing.
func TestACodeUsedTwice(t *testing.T) {
	w := newWorld(t, &mcptest.Login{})
	l := w.node()
	link, err := l.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer := browse(t, link.URL)
	_, query, _ := strings.Cut(answer, "code=")
	code, _, _ := strings.Cut(query, "&")
	resp, err := http.PostForm(w.url+"/token", map[string][]string{"grant_type": {"authorization_code"}, "client_id": {"dragoman"}, "code": {code}, "redirect_uri": {w.Redirect}})
	if err != nil || resp.StatusCode == http.StatusOK {
		t.Fatalf("without the proof a code gives %v, %v", resp, err)
	}
	if err := l.Finish(t.Context(), answer); err != nil {
		t.Fatal(err) // whoever stole it has no proof
	}
	w.works(l)
}

// What a server does wrong is said, keeps nothing, and tells no token.
func TestFlaws(t *testing.T) {
	says := map[string]string{
		"issuer": "issuer", "resource": "https://bank.example/mcp", "no-pkce": "PKCE", "plain": "does not support PKCE with S256", "redirects": "redirects",
		"secrets": "does not use HTTPS", "inside": "non-public address", "local": "::1 is not on the public internet", "plaintext": "does not use HTTPS", "huge": "more than 64 KiB", "html": "content type",
		"iss": "does not come from the authorization server", "no-iss": "does not come from", "state": "another login", "denied": "access_denied Not you.·[2J",
		"error": "refused: invalid_request", "down": "cannot answer now (status 503)", "dpop": "of a kind that is not known", "lines": "no token that can be used",
		"no-servers": "names no authorization server", "other": "elsewhere.example", "port": "an address of this machine: if that is the authorization server, write oauth.issuer",
	}
	for flaw := range mcptest.LoginFlaws {
		t.Run(flaw, func(t *testing.T) {
			want, fails := says[flaw]
			w := newWorld(t, &mcptest.Login{Flaw: flaw})
			l := w.node()
			err := w.login(l)
			switch {
			case !fails && err != nil:
				t.Fatalf("the login = %v", err)
			case !fails:
				return // what it does later has its own test
			case err == nil || !strings.Contains(err.Error(), want):
				t.Fatalf("the login = %v, want %q", err, want)
			}
			for _, token := range append(w.Tokens(), "refresh-", "\x1b") {
				if strings.Contains(err.Error(), token) {
					t.Errorf("the error has %q: %v", token, err)
				}
			}
			w.needs(l, "it needs a login")
		})
	}
}
