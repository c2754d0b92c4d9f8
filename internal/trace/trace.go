// Package trace tells an OpenTelemetry collector what a turn spends its time on: one trace
// a turn, with a span for the wait, each call of a model, each call of a tool, the commit,
// and each delivery below that of the turn.
//
// The promise. Tracing cannot harm a turn: [Span.End] never blocks and never fails, and
// the queue is bounded. No span has a word of a conversation, the name of a person, a
// key or a secret. Conversations and turns are named by a hash whose key is random and
// in memory only, so that it cannot be undone by trying all phone numbers. It is another
// one after a restart.
//
// Failures:
//
//	no collector is configured        There is no Tracer. Begin returns no span, and the methods
//	                                  of no span do nothing.
//	spans come faster than they are   More than maxQueued wait: the newest are dropped and counted.
//	sent, or the collector hangs
//	the collector refuses or is down  The batch is dropped and counted, and the log says so once an
//	                                  hour. Nothing is sent twice.
//	the daemon ends                   What waits is sent within drainLimit.
//	the process is killed             What waits is lost. Later deliveries are in other traces.
//	a delivery waits for more than    It is in the turn's trace and has no parent.
//	a thousand turns
//
// The exporter speaks OTLP over HTTP with JSON. Why it is our own: decision 25.
//
// Goroutines: [Tracer.Run] owns one, and wakes only for spans.
package trace

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// maxQueued is how many ended spans may wait: some 500 KB.
const maxQueued = 2048

// Options say where traces are sent.
type Options struct {
	// URL is the collector's address, without /v1/traces.
	URL string
	// Headers are sent with each request.
	Headers map[string]string
	// Version is the program's, and Node names this process among several; "": alone.
	Version, Node string
	// Count, if not nil, hears of spans: sent, failed, dropped. It must not block.
	Count  func(outcome string, spans int)
	Logger *slog.Logger // nil: discard
}

// Tracer collects spans and sends them. A nil Tracer begins no spans.
type Tracer struct {
	opts  Options
	seed  [32]byte
	queue chan *Span
	http  *http.Client
	turns turns
	said  atomic.Int64 // when the log last spoke of a failure, in Unix seconds
}

// New makes a tracer. Nothing is sent before [Tracer.Run].
func New(o Options) *Tracer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Count == nil {
		o.Count = func(string, int) {}
	}
	o.URL = strings.TrimSuffix(strings.TrimRight(o.URL, "/"), "/v1/traces") + "/v1/traces"
	t := &Tracer{opts: o, queue: make(chan *Span, maxQueued), http: newClient()}
	_, _ = rand.Read(t.seed[:]) // it never fails
	return t
}

// Kind is what a span is to others, as OpenTelemetry numbers it.
type Kind int

// The kinds of spans.
const (
	Internal Kind = 1
	Client   Kind = 3
)

// Span is a piece of work. It belongs to one goroutine. Nil: nobody traces, and its
// methods do nothing.
type Span struct {
	tracer *Tracer
	trace  [16]byte
	id     [8]byte
	parent [8]byte // zero: none
	name   string
	kind   Kind
	begun  time.Time
	ended  time.Time
	attrs  []Attr
	failed bool
}

// inContext is the key of the span of a context.
type inContext struct{}

// Turn begins the span of a turn: all that is begun with the same id is in one trace. The
// context that it returns makes [Begin] begin its parts.
func (t *Tracer) Turn(ctx context.Context, id, name string, kind Kind, attrs ...Attr) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	s := t.begin(id, name, kind, attrs)
	t.turns.add(s.trace, s.id)
	return context.WithValue(ctx, inContext{}, s), s
}

// After begins the span of what follows a turn, such as a delivery of its answer. It is in
// the turn's trace, below the newest span that [Tracer.Turn] began with that id, if that
// is one of the last thousand of this process; else it has no parent.
func (t *Tracer) After(id, name string, kind Kind, attrs ...Attr) *Span {
	if t == nil {
		return nil
	}
	s := t.begin(id, name, kind, attrs)
	s.parent = t.turns.newest(s.trace)
	return s
}

// begin begins a span of the trace of a turn.
func (t *Tracer) begin(turn, name string, kind Kind, attrs []Attr) *Span {
	s := &Span{tracer: t, name: name, kind: kind, begun: time.Now(), attrs: attrs}
	copy(s.trace[:], t.hash("turn", turn))
	_, _ = rand.Read(s.id[:])
	return s
}

// Conversation is the name of a conversation in spans: a hash of its key.
func (t *Tracer) Conversation(key string) string {
	if t == nil {
		return ""
	}
	return hex.EncodeToString(t.hash("conversation", key)[:8])
}

func (t *Tracer) hash(what, id string) []byte {
	h := hmac.New(sha256.New, t.seed[:])
	_, _ = h.Write([]byte(what + "\x00" + id)) // it never fails
	return h.Sum(nil)
}

// Begin begins a part of the span that ctx is in. Without one it returns no span.
func Begin(ctx context.Context, name string, kind Kind, attrs ...Attr) *Span {
	return BeginAt(ctx, time.Now(), name, kind, attrs...)
}

// BeginAt is Begin for what began earlier.
func BeginAt(ctx context.Context, at time.Time, name string, kind Kind, attrs ...Attr) *Span {
	parent, _ := ctx.Value(inContext{}).(*Span)
	if parent == nil {
		return nil
	}
	s := &Span{tracer: parent.tracer, trace: parent.trace, parent: parent.id, name: name, kind: kind, begun: at, attrs: attrs}
	_, _ = rand.Read(s.id[:])
	return s
}

// On reports whether ctx is traced, so that nobody collects what nobody reads.
func On(ctx context.Context) bool { return ctx.Value(inContext{}) != nil }

// Set adds to what is known of the span.
func (s *Span) Set(attrs ...Attr) {
	if s != nil {
		s.attrs = append(s.attrs, attrs...)
	}
}

// Fail marks the span as failed; kind is a word, never a message.
func (s *Span) Fail(kind string) {
	if s != nil {
		s.failed = true
		s.Set(Text(ErrorType, kind))
	}
}

// End ends the span and queues it.
func (s *Span) End() {
	if s == nil {
		return
	}
	s.ended = time.Now()
	select {
	case s.tracer.queue <- s:
	default:
		s.tracer.opts.Count("dropped", 1)
	}
}
