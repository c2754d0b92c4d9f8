package trace_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/internal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counts are the outcomes of spans.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(outcome string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[outcome] += n
}

func (c *counts) get(outcome string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[outcome]
}

// run starts a tracer; stop ends it and waits.
func run(t *testing.T, handler http.HandlerFunc) (tr *trace.Tracer, c *counts, stop func()) {
	t.Helper()
	server := httptest.NewServer(handler)
	c = &counts{of: map[string]int{}}
	tr = trace.New(trace.Options{URL: server.URL, Count: c.add})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { tr.Run(ctx) })
	return tr, c, func() {
		cancel()
		wg.Wait()
		server.Close()
	}
}

func spans(tr *trace.Tracer, n int) {
	for i := range n {
		_, s := tr.Turn(context.Background(), strconv.Itoa(i), "a", trace.Internal)
		s.End()
	}
}

// A collector that hangs costs nobody anything but the spans.
func TestNeverBlocks(t *testing.T) {
	release := make(chan struct{})
	tr, c, stop := run(t, func(http.ResponseWriter, *http.Request) { <-release })
	began := time.Now()
	spans(tr, 10_000)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("10,000 spans took %s while the collector hangs", took)
	}
	if n := c.get("dropped"); n < 10_000-2048-256 {
		t.Errorf("%d spans were dropped, so the queue has no bound", n)
	}
	close(release)
	stop()
	if sum := c.get("sent") + c.get("dropped") + c.get("failed"); sum != 10_000 {
		t.Errorf("%d of 10,000 spans were counted: %v", sum, c.of)
	}
	if c.get("sent") < 2048 {
		t.Errorf("the end sent only %d", c.get("sent"))
	}
}

// A collector that redirects is not followed, and nothing is sent twice.
func TestRefused(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	tr, c, stop := run(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path]++
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	spans(tr, 3)
	stop()
	if asked["/elsewhere"] != 0 || asked["/v1/traces"] < 1 || c.get("failed") != 3 {
		t.Errorf("asked %v, outcomes %v", asked, c.of)
	}
}

// Without a tracer nothing happens, and conversations have no name.
func TestOff(t *testing.T) {
	var tr *trace.Tracer
	ctx, s := tr.Turn(t.Context(), "1", "a", trace.Internal)
	part := trace.Begin(ctx, "b", trace.Client)
	for _, span := range []*trace.Span{s, part} {
		span.Set(trace.Number("n", 1))
		span.Fail("kind")
		span.End()
	}
	if s != nil || part != nil || tr.Conversation("telegram:1") != "" {
		t.Error("something is traced without a tracer")
	}
}

// Two tracers name a conversation differently: the name cannot be found by trying.
func TestConversation(t *testing.T) {
	one, two := trace.New(trace.Options{URL: "http://127.0.0.1:1"}), trace.New(trace.Options{URL: "http://127.0.0.1:1"})
	a, b := one.Conversation("telegram:123456"), two.Conversation("telegram:123456")
	if a == b || a != one.Conversation("telegram:123456") || len(a) != 16 {
		t.Errorf("names %q and %q", a, b)
	}
}

// What follows a turn is below it as long as the turn is remembered. The newest attempt at a
// turn counts, and no turn is remembered for ever.
func TestAfterATurn(t *testing.T) {
	type span struct {
		TraceID, SpanID, ParentSpanID, Name string
	}
	var mu sync.Mutex
	got := map[string]span{}
	tr, _, stop := run(t, func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []span }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, s := range body.ResourceSpans[0].ScopeSpans[0].Spans {
			got[s.Name] = s
		}
	})
	turn := func(id, name string) {
		_, s := tr.Turn(t.Context(), id, name, trace.Internal)
		s.End()
	}
	turn("old", "old")
	for i := range 1023 {
		tr.Turn(t.Context(), strconv.Itoa(i), "other", trace.Internal)
	}
	turn("a", "failed attempt") // the 1025th
	turn("a", "attempt")
	tr.After("a", "delivery", trace.Client).End()
	tr.After("old", "late delivery", trace.Client).End()
	tr.After("none", "notice", trace.Client).End()
	stop()
	if d, a := got["delivery"], got["attempt"]; d.ParentSpanID == "" || d.ParentSpanID != a.SpanID || d.TraceID != a.TraceID {
		t.Errorf("the delivery is %+v, the attempt %+v", d, a)
	}
	if d := got["late delivery"]; d.ParentSpanID != "" || d.TraceID != got["old"].TraceID {
		t.Errorf("the delivery after a turn that is forgotten is %+v, the turn %+v", d, got["old"])
	}
	if n := got["notice"]; n.ParentSpanID != "" || n.TraceID == "" {
		t.Errorf("a notice of no turn is %+v", n)
	}
}
