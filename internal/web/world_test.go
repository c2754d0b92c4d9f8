package web_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/people"
	"dragoman/internal/testkit"
	"dragoman/internal/web"
	"dragoman/sessions"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "correct horse battery staple"

// ask makes a request as it would come from a program on this machine.
var ask = testkit.Local

// notes are those of a store, in memory.
type notes struct {
	mu   sync.Mutex
	all  []sessions.Note
	fail error
}

func (n *notes) Notes(_ context.Context, like sessions.NoteFilter) ([]sessions.Note, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.all), func(one sessions.Note) bool {
		return one.Kind != like.Kind || like.Owner != "" && one.Owner != like.Owner
	}), n.fail
}

func (n *notes) ChangeNotes(_ context.Context, kind, owner string, change func([]sessions.Note) ([]sessions.Note, []string, error)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return n.fail
	}
	theirs := func(one sessions.Note) bool { return one.Kind == kind && one.Owner == owner }
	put, remove, err := change(slices.DeleteFunc(slices.Clone(n.all), func(one sessions.Note) bool { return !theirs(one) }))
	if err != nil {
		return err
	}
	for _, p := range put {
		remove = append(remove, p.Name)
	}
	n.all = slices.DeleteFunc(n.all, func(one sessions.Note) bool { return theirs(one) && slices.Contains(remove, one.Name) })
	n.all = append(n.all, put...)
	return nil
}

// breaks makes the store fail.
func (n *notes) breaks(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail = err
}

// forget removes everything.
func (n *notes) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = nil
}

// house is a door with something behind it, and the tokens of its store.
type house struct {
	*web.Door
	t      *testing.T
	notes  *notes
	tokens *people.Tokens
	links  *people.Links

	running sync.Once
	hold    func(*http.Request) // serves /api/events
}

// said is what stands in for everything behind the door: it says who asks.
var said = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	p, _ := people.From(r.Context())
	_, _ = fmt.Fprintf(w, "%s %s by %s as %s of %s", r.Method, r.URL.Path, p.ID, p.Scope, p.Token)
})

// open opens a door with this configured token, or none.
func open(t *testing.T, token string, change ...func(*web.Options)) *house {
	t.Helper()
	return on(t, &notes{}, token, change...)
}

// on opens a door on a store.
func on(t *testing.T, store *notes, token string, change ...func(*web.Options)) *house {
	t.Helper()
	h := &house{t: t, notes: store, tokens: people.NewTokens(store, people.Options{Configured: token})}
	h.links = people.NewLinks(h.tokens)
	o := web.Options{Addr: "127.0.0.1:8787", Token: token, Tokens: h.tokens, Links: h.links, LoginPage: loginPage}
	for _, c := range change {
		c(&o)
	}
	var err error
	if h.Door, err = web.New(o); err != nil {
		t.Fatal(err)
	}
	h.Public("GET /{$}", said)
	h.Protect("/api/chat/", people.Chat, said)
	h.Protect("/api/events", people.Chat, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { h.hold(r) }))
	h.Protect("POST /api/ask", people.Chat, said)
	h.Protect("GET /metrics", people.Read, said)
	h.Protect("POST /api/queue", people.Operate, said)
	h.Protect("POST /api/link", people.Admin, said)
	return h
}

func loginPage(problem string) string { return "login: " + html.EscapeString(problem) }

// token makes a named token and returns its secret.
func (h *house) token(name, person string, scope people.Scope) string {
	h.t.Helper()
	_, secret, err := h.tokens.Create(h.t.Context(), people.NewToken{Name: name, Person: person, Scope: scope})
	if err != nil {
		h.t.Fatal(err)
	}
	return secret
}

// link makes a one-time link and returns its secret.
func (h *house) link() string {
	h.t.Helper()
	secret, _, err := h.links.Create(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return secret
}

// ours is the Origin of our page.
const ours = "Origin: http://127.0.0.1:8787"

func bearer(secret string) string { return "Authorization: Bearer " + secret }

// cookie is the header with the cookie that a login has set.
func cookie(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	all := w.Result().Cookies()
	if len(all) != 1 {
		t.Fatalf("answer = %d %s with %d cookies, want one", w.Code, w.Body, len(all))
	}
	return "Cookie: " + all[0].Name + "=" + all[0].Value
}

var errStoreIsAway = errors.New("the store is away")

// stream is a request that goes on until somebody ends it.
type stream struct {
	house *house
	ended chan struct{}
}

// stream begins one with this header. The door's Run goes on until the test ends; call
// it in a bubble.
func (h *house) stream(header string) *stream {
	h.t.Helper()
	h.running.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = h.Run(ctx)
		}()
		h.t.Cleanup(func() {
			cancel()
			<-done
		})
	})
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{h, make(chan struct{})}
	begun := make(chan struct{})
	h.hold = func(r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}
	go func() {
		defer close(s.ended)
		r := httptest.NewRequestWithContext(ctx, "GET", "/api/events", nil)
		r.Host = "127.0.0.1:8787"
		r.RemoteAddr = "127.0.0.1:50000"
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}()
	h.t.Cleanup(func() {
		cancel()
		<-s.ended
	})
	<-begun
	return s
}

// endsWithin waits for the end.
func (s *stream) endsWithin(t *testing.T, most time.Duration) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(most):
		t.Errorf("the stream goes on after %s", most)
	}
}
