package metrics

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dragoman/sessions"
)

// The parts of a turn that [Set.Phase] times.
const (
	// PhaseWait is from the acceptance of a turn's oldest message to its first attempt.
	PhaseWait = "wait"
	// PhaseModel is one call of a model.
	PhaseModel = "model"
	// PhaseTools is one call of a tool.
	PhaseTools = "tools"
	// PhaseDelivery is from the commit of an answer until its network has it.
	PhaseDelivery = "delivery"
)

// Buckets of what is quick: commits and requests. A histogram for each operation and each
// route is many series, so there are few.
var quickBuckets = []float64{.001, .0025, .005, .01, .025, .1, .5, 2.5, 10}

// parts are the metrics of what a turn, the store and the port consist of.
type parts struct {
	phases      vector
	firstToken  vector
	summaryTime prometheus.Histogram
	store       storeCalls
	leasesHeld  *prometheus.GaugeVec
	leaseNames  *values
	leaseTaken  counter
	apiCalls    counter
	apiTime     vector
	requests    counter
	listenCuts  prometheus.Counter
	spans       counter
}

func (s *Set) addParts() {
	s.phases = s.vector("turn_phase_seconds", "How long the parts of turns take: wait (accepted until the first attempt), model (a call), tools (a call), delivery (stored until its network has it).", turnBuckets, "phase")
	s.firstToken = s.vector("model_first_token_seconds", "How long a call to a model took until its first piece came.", turnBuckets, "model")
	s.summaryTime = s.histogram("compaction_seconds", "How long an attempt at a summary took.", turnBuckets)
	s.store.took = s.vector("store_seconds", "How long an operation of the store took.", quickBuckets, "operation").vec
	s.store.failed = s.counter("store_errors_total", "Operations of the store that failed.", "operation").vec
	s.store.known = map[string]storeCall{}
	s.leasesHeld = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "leases_held", Help: "Leases that this node holds.",
	}, []string{"lease"})
	s.leaseNames = &values{m: make([]map[string]bool, 1)}
	s.leaseTaken = s.counter("leases_taken_total", "Leases that this node took.", "lease")
	s.apiCalls = s.counter("api_requests_total", "Requests to the API, at the port and at the socket, by route and status code.", "route", "code")
	s.apiTime = s.vector("api_request_seconds", "How long the API took for a request; not for streams.", quickBuckets, "route")
	s.requests = s.counter("http_requests_total", "Requests to the port, by route and status code. What the API serves has one route here.", "route", "code")
	s.listenCuts = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "stream_cut_total", Help: "Listeners that were cut off because they read too slowly.",
	})
	s.spans = s.counter("trace_spans_total", "Spans for the collector of traces, by outcome: sent, failed, dropped.", "outcome")
	s.own.MustRegister(s.leasesHeld, s.listenCuts)
}

// Begin makes counters of these channels and models appear, so that their first increase is
// seen as one.
func (s *Set) Begin(channels, models []string) {
	for _, channel := range channels {
		s.repeats.add(0, channel)
		for _, outcome := range []string{"sent", "deferred", "dead"} {
			s.delivered.add(0, channel, outcome)
		}
	}
	for _, model := range models {
		s.modelCost.add(0, model)
	}
	for _, outcome := range []string{"done", "failed"} {
		s.summaries.add(0, outcome)
	}
}

// Phase times a part of a turn: see the constants.
func (s *Set) Phase(phase string, took time.Duration) { s.phases.observe(took, phase) }

// FirstToken times how long a model took until its first piece.
func (s *Set) FirstToken(model string, took time.Duration) { s.firstToken.observe(took, model) }

// storeCalls are the metrics of operations of the store. A turn makes ten, and their names
// are constants, so they are looked up once.
type storeCalls struct {
	took   *prometheus.HistogramVec
	failed *prometheus.CounterVec

	mu    sync.Mutex
	known map[string]storeCall
}

// storeCall are those of one operation.
type storeCall struct {
	took   prometheus.Observer
	failed prometheus.Counter
}

func (s *storeCalls) of(operation string) storeCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, found := s.known[operation]
	if !found {
		c = storeCall{s.took.WithLabelValues(operation), s.failed.WithLabelValues(operation)}
		s.known[operation] = c
	}
	return c
}

// StoreCall times an operation of the store, which has a constant name. What the store
// refuses because of its state, or because the caller gave up, is no failure.
func (s *Set) StoreCall(operation string, took time.Duration, err error) {
	c := s.store.of(operation)
	c.took.Observe(max(took, 0).Seconds())
	s.listener.StoreCall(operation, took)
	if err != nil && !refused(err) {
		c.failed.Inc()
	}
}

// refused reports whether the store works and said no.
func refused(err error) bool {
	for _, no := range []error{
		sessions.ErrNotFound, sessions.ErrConflict, sessions.ErrFenced, sessions.ErrFull, sessions.ErrTooMany,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// LeaseHeld notes that this node took a lease; call release when it is lost.
func (s *Set) LeaseHeld(lease string) (release func()) {
	lease = s.leaseTaken.add(1, lease)[0]
	held := s.leasesHeld.WithLabelValues(lease)
	held.Inc()
	return held.Dec
}

// APIRequest counts a request to a route of the API. took is 0 for streams, which last as
// long as somebody listens.
func (s *Set) APIRequest(route string, code int, took time.Duration) {
	route = s.apiCalls.add(1, route, strconv.Itoa(code))[0]
	if took > 0 {
		s.apiTime.observe(took, route)
	}
}

// Request counts a request to the port; route "": no route has its path.
func (s *Set) Request(route string, code int) {
	s.requests.add(1, cmp.Or(route, "none"), strconv.Itoa(code))
}

// ListenerCut counts a listener that was cut off.
func (s *Set) ListenerCut() { s.listenCuts.Inc() }

// Spans counts spans of traces.
func (s *Set) Spans(outcome string, n int) { s.spans.add(float64(n), outcome) }

// vector is a histogram with one label that accepts any value.
type vector struct {
	vec  *prometheus.HistogramVec
	seen *values
}

func (s *Set) vector(name, help string, buckets []float64, label string) vector {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, []string{label})
	s.own.MustRegister(vec)
	return vector{vec: vec, seen: &values{m: make([]map[string]bool, 1)}}
}

func (v vector) observe(took time.Duration, label string) {
	v.vec.WithLabelValues(v.seen.bound([]string{label})...).Observe(max(took, 0).Seconds())
}
