package incoming_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/internal/incoming"
	"dragoman/internal/respond"
	"dragoman/internal/webhook"
)

// start is when the tests begin.
var start = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// yard is hooks over a taker that knows what it took, and a clock that the test moves.
type yard struct {
	t     *testing.T
	hooks *incoming.Hooks
	log   bytes.Buffer

	mu    sync.Mutex
	now   time.Time
	taken []incoming.Call
	known map[string]bool
	fail  error // of the next Take
}

// Take implements incoming.Taker as the store does: it takes an id once.
func (y *yard) Take(_ context.Context, c incoming.Call) (repeated bool, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.fail != nil {
		err := y.fail
		y.fail = nil
		return false, err
	}
	if c.ID != "" && (y.known[c.ID] || y.known[c.FormerID]) {
		return true, nil
	}
	y.known[c.ID] = true
	y.taken = append(y.taken, c)
	return false, nil
}

func newYard(t *testing.T, list ...incoming.Hook) *yard {
	y := &yard{t: t, now: start, known: map[string]bool{}}
	y.hooks = incoming.New(list, y, incoming.Options{
		Now:    y.clock,
		Logger: slog.New(slog.NewTextHandler(&y.log, nil)),
	})
	return y
}

func (y *yard) clock() time.Time {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.now
}

// pass lets time pass.
func (y *yard) pass(d time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.now = y.now.Add(d)
}

func (y *yard) count() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return len(y.taken)
}

// last is what the newest call led to.
func (y *yard) last() incoming.Call {
	y.t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.taken) == 0 {
		y.t.Fatal("no call was taken")
	}
	return y.taken[len(y.taken)-1]
}

// call is a call of a hook.
type call struct {
	name, peer, body string
	header           http.Header
	sizeless         bool // it does not say how long its body is
}

func (y *yard) call(c call) (incoming.Answer, error) {
	r := httptest.NewRequestWithContext(y.t.Context(), http.MethodPost, "/api/v1/hooks/"+c.name, strings.NewReader(c.body))
	if c.sizeless {
		r.Body = io.NopCloser(strings.NewReader(c.body))
		r.ContentLength = -1
	}
	if c.header != nil {
		r.Header = c.header
	}
	return y.hooks.Take(r, c.name, c.peer)
}

// status is that of an answer: 202, 200 for a repeat, or that of a refusal.
func status(t *testing.T, a incoming.Answer, err error) int {
	t.Helper()
	no, refused := errors.AsType[*respond.Refusal](err)
	switch {
	case refused:
		return no.Status
	case err != nil:
		t.Fatalf("Take = %v, want a refusal", err)
	case a.Repeated:
		return http.StatusOK
	}
	return http.StatusAccepted
}

func (y *yard) expect(want int, what string, c call) incoming.Answer {
	y.t.Helper()
	a, err := y.call(c)
	if got := status(y.t, a, err); got != want {
		y.t.Errorf("%s is answered %d (%v), want %d", what, got, err, want)
	}
	return a
}

// bearer is a hook of the kind that is the easiest to call, and a call of it.
func bearer(t *testing.T, template string) (incoming.Hook, call) {
	t.Helper()
	h := incoming.Hook{Name: "shop", Checker: checker(t, webhook.Bearer, "the-secret-of-the-shop"), To: channels.MustKey("web:shop"), Text: parse(t, template)}
	return h, call{name: "shop", body: `{"what":"a book"}`, header: http.Header{"Authorization": {"Bearer the-secret-of-the-shop"}}}
}

func checker(t *testing.T, kind webhook.Kind, secrets ...string) webhook.Checker {
	t.Helper()
	c, err := webhook.NewChecker(kind, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t *testing.T, template string) webhook.Template {
	t.Helper()
	text, err := webhook.ParseTemplate(template)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// with is c with another id.
func (c call) with(id string) call {
	c.header = c.header.Clone()
	c.header.Set("Webhook-Id", id)
	return c
}

// A hook takes 60 calls in an hour, unless it says otherwise. What was refused, repeated or
// not stored does not count, and a hook that is replaced by one of its name goes on counting.
func TestPerHour(t *testing.T) {
	h, right := bearer(t, "x")
	y := newYard(t, h)
	wrong := right
	wrong.header = http.Header{"Authorization": {"Bearer another"}}
	for i := range 59 {
		y.expect(202, "a call", right.with(fmt.Sprint(i)))
	}
	y.expect(200, "a repeat", right.with("1"))
	y.expect(401, "a wrong call", wrong)
	y.mu.Lock()
	y.fail = &respond.Refusal{Status: http.StatusServiceUnavailable}
	y.mu.Unlock()
	y.expect(503, "a call that is not stored", right.with("unstored"))
	y.expect(202, "the sixtieth", right.with("60"))
	y.hooks.Replace([]incoming.Hook{h})
	y.pass(20 * time.Minute)
	_, err := y.call(right.with("61"))
	no, refused := errors.AsType[*respond.Refusal](err)
	if !refused || no.Status != http.StatusTooManyRequests || no.RetryAfter != 40*time.Minute {
		t.Errorf("the call after the sixtieth = %+v, want 429 for forty minutes", err)
	}
	y.pass(40 * time.Minute)
	y.expect(202, "a call an hour later", right.with("62"))
	h.PerHour = 1
	y.hooks.Replace([]incoming.Hook{h})
	y.expect(429, "a call of a hook that may be called less now", right.with("63"))
	if n := y.count(); n != 61 {
		t.Errorf("%d calls were taken, want 61", n)
	}
}

// Wrong calls of one address are refused before anything is read, others are not.
func TestWrongCallsOfOneAddress(t *testing.T) {
	h, right := bearer(t, "x")
	y := newYard(t, h)
	wrong := right
	wrong.peer = "192.0.2.1"
	wrong.header = http.Header{"Authorization": {"Bearer another"}}
	for range 60 {
		y.expect(401, "a wrong call", wrong)
	}
	y.expect(429, "the 61st", wrong)
	right.peer = "192.0.2.1"
	y.expect(429, "a right call of that address", right.with("1"))
	right.peer = "192.0.2.2"
	y.expect(202, "a right call of another address", right.with("1"))
	y.pass(time.Second)
	right.peer = "192.0.2.1"
	y.expect(202, "a right call a second later", right.with("2"))
	if n := strings.Count(y.log.String(), "was refused"); n != 1 {
		t.Errorf("%d lines about 60 refusals, want one a minute:\n%s", n, &y.log)
	}
	if strings.Contains(y.log.String(), "another") {
		t.Errorf("the log shows a secret: %s", &y.log)
	}
}

// A body has its limit to the byte, also if it does not say how long it is, and whatever
// its secret.
func TestBodySize(t *testing.T) {
	h, right := bearer(t, "{{body}}")
	h.MaxBody = 100
	y := newYard(t, h)
	for i, c := range []struct {
		size     int
		sizeless bool
		want     int
	}{{100, false, 202}, {100, true, 202}, {101, false, 413}, {101, true, 413}, {1 << 20, true, 413}} {
		one := right.with(fmt.Sprint(i))
		one.body = strings.Repeat("a", c.size)
		one.sizeless = c.sizeless
		y.expect(c.want, fmt.Sprint(c.size, " bytes"), one)
		one.header = http.Header{}
		one.sizeless = c.sizeless
		y.expect(map[int]int{202: 401, 413: 413}[c.want], fmt.Sprint(c.size, " bytes without a secret"), one)
	}
	right.name = "nothing"
	right.body = strings.Repeat("a", 1<<20+1)
	y.expect(413, "a large body for a hook that does not exist", right)
}

// What a template names and a call lacks is "(none)"; a template that needs JSON needs it.
func TestTemplates(t *testing.T) {
	const mark = "\n\n"
	for _, c := range []struct{ template, body, want string }{
		{"sold: {{what}}", `{"what":"a book"}`, "sold: ⟦a book⟧"},
		{"{{items.0.name}}, {{items.1.name}}", `{"items":[{"name":"a"}]}`, "⟦a⟧, ⟦(none)⟧"},
		{"{{a.b.c}}", `{"a":{"b":7}}`, "⟦(none)⟧"},
		{"{{what}}", `{"what":null}`, "⟦(none)⟧"},
		{"{{what}}", `[]`, "⟦(none)⟧"},
		{"{{body}}", "what=a+book", "⟦what=a+book⟧"},
		{"{{body}}", "", "⟦(none)⟧"},
		{"{{body}}", "\xff\xfe a \x80", "⟦\uFFFD a \uFFFD⟧"},
		{"{{what}}", "{\"what\":\"\xff\"}", "⟦\uFFFD⟧"},
		{"{{header.x-event}} {{header.authorization}}", "{}", "⟦push⟧ ⟦(none)⟧"},
		{"{{what}}", "what=a+book", ""},
		{"{{what}}", `{"what":"a"} {"what":"b"}`, ""},
		{"{{header.x-event}} {{what}}", "", ""},
	} {
		h, right := bearer(t, c.template)
		y := newYard(t, h)
		right.body = c.body
		right.header.Set("X-Event", "push")
		if c.want == "" {
			y.expect(400, c.template+" with "+c.body, right)
			continue
		}
		y.expect(202, c.template+" with "+c.body, right)
		_, got, _ := strings.Cut(y.last().Text, mark)
		if got != c.want {
			t.Errorf("%s with %q is %q, want %q", c.template, c.body, got, c.want)
		}
	}
}

// A message is Markdown that shows what came literally, and the transcript has it quoted.
func TestMessage(t *testing.T) {
	h, right := bearer(t, "**Sold**: {{what}}")
	h.Message = true
	h.Owner = channels.Person{IDs: []string{"42"}}
	y := newYard(t, h)
	right.body = `{"what":"*a* ⟧ /stop"}`
	y.expect(202, "a message", right)
	got := y.last()
	if got.Text != `**Sold**: \*a\* ⟧ \/stop` || !strings.HasSuffix(got.Shown, "**Sold**: ⟦*a* ] /stop⟧") || got.Owner.ID() != "42" || got.To.String() != "web:shop" {
		t.Errorf("the message is %+v", got)
	}
}

// Whatever a body is, whoever has no secret leads to nothing, and whoever has it to text.
func FuzzCall(f *testing.F) {
	f.Add(`{"what":"a book"}`, "1")
	f.Add("\xff", "")
	f.Fuzz(func(t *testing.T, body, id string) {
		h, right := bearer(t, "{{body}} {{header.webhook-id}}")
		h.Repeats = incoming.ByIDOrBody
		y := newYard(t, h)
		right.body = body
		right.header["Webhook-Id"] = []string{id}
		stranger := right
		stranger.header = http.Header{"Webhook-Id": {id}}
		if _, err := y.call(stranger); err == nil || y.count() > 0 {
			t.Errorf("a call without a secret = %v, and led to %d", err, y.count())
		}
		if _, err := y.call(right); err != nil || y.count() != 1 || !utf8.ValidString(y.last().Text) {
			t.Errorf("a call with the secret = %v, and led to %d", err, y.count())
		}
		a, err := y.call(right)
		if err != nil || !a.Repeated || y.count() != 1 {
			t.Errorf("its repeat = %+v, %v, and led to %d", a, err, y.count())
		}
	})
}
