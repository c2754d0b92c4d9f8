// Package metrics counts what the daemon does, for Prometheus.
//
// Every name begins with dragoman_. The promise: counting never blocks, fails or panics,
// whatever the labels are. Label values come from the configuration or from short fixed
// lists. Where a model or a network could choose them, only 100 are distinguished and
// the others count as "other". No label names a chat or a person, or has text from a
// conversation.
//
// Where several nodes share a store, a node's own metrics have the label "node". Metrics
// that it reads from the store are the same on each node, and lack the label.
//
// The package starts no goroutines. Queue depths and channel states are read at each
// scrape, within a deadline. If that fails they are left out, and
// dragoman_collect_errors_total grows.
package metrics

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Set is one process's metrics. It satisfies the gateway's Observer.
type Set struct {
	registry *prometheus.Registry
	own      prometheus.Registerer // adds the label of this node
	listener Listener

	accepted    counter
	quarantined counter
	turns       counter
	turnTime    prometheus.Histogram
	delivered   counter
	repeats     counter
	summaries   counter
	silentCuts  counter
	unaccounted counter
	heartbeats  counter
	hooks       counter
	logins      counter

	modelCalls  counter
	modelTime   *prometheus.HistogramVec
	modelTokens counter
	modelCost   counter
	toolCalls   counter
	toolTime    prometheus.Histogram

	collectErrors prometheus.Counter

	parts
}

// Buckets: a turn takes from milliseconds (demo, commands) to many minutes.
var (
	turnBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180, 600}
	toolBuckets = []float64{.001, .005, .025, .1, .5, 1, 5, 15, 60}
)

// New makes an empty set. dragoman_build_info shows version. node identifies this
// process among those that share a store; "": it has no peers.
func New(version, node string) *Set {
	s := &Set{registry: prometheus.NewRegistry(), listener: nobody{}}
	s.own = s.registry
	if node != "" {
		s.own = prometheus.WrapRegistererWith(prometheus.Labels{"node": strings.ToValidUTF8(node, "?")}, s.registry)
	}
	s.accepted = s.counter("messages_accepted_total", "Messages handed in by channels, by outcome.", "channel", "outcome")
	s.quarantined = s.counter("messages_set_aside_total", "Messages that a channel could not understand.", "channel")
	s.turns = s.counter("turns_total", "Runs of the agent, by outcome.", "outcome")
	s.turnTime = s.histogram("turn_seconds", "How long a turn took, from its start to its commit.", turnBuckets)
	s.delivered = s.counter("deliveries_total", "Attempts to deliver, by outcome.", "channel", "outcome")
	s.repeats = s.counter("delivery_repeats_total", "Messages sent again although an earlier attempt may have arrived.", "channel")
	s.summaries = s.counter("summaries_total", "Summaries of old messages, by outcome.", "outcome")
	s.silentCuts = s.counter("model_silent_cuts_total", "Times that a model's server cut a request without saying so.", "model")
	s.unaccounted = s.counter("messages_unaccounted_total", "Messages that a request to the model neither showed nor had a summary of. said=yes: it had no room for them, and said so. said=no: a bug.", "said")
	s.unaccounted.add(0, yesNo(true))
	s.unaccounted.add(0, yesNo(false))
	s.heartbeats = s.counter("heartbeats_total", "Occurrences of jobs, by outcome: ran, silent, failed, skipped, missed.", "job", "outcome")
	s.hooks = s.counter("hook_events_total", "Events for hooks, by outcome: ok, failed, timeout, dropped.", "event", "outcome")
	s.logins = s.counter("login_failures_total", "Wrong tokens for the page. wrong_token: refused. too_many: for a while every token is refused.", "reason")
	for _, reason := range loginFailures {
		s.logins.add(0, reason)
	}
	s.modelCalls = s.counter("model_calls_total", "Calls to models, by outcome: ok or the kind of error.", "model", "outcome")
	s.modelTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "model_call_seconds", Help: "How long a call to a model took.", Buckets: turnBuckets,
	}, []string{"model"})
	s.modelTokens = s.counter("model_tokens_total", "Tokens as the provider counts them: input, cached (part of input), output.", "model", "kind")
	s.modelCost = s.counter("model_cost_total", "What calls to models cost: at the configured prices, or as the provider says. Summaries and jobs included.", "model")
	s.toolCalls = s.counter("tool_calls_total", "Calls of tools, by outcome.", "tool", "outcome")
	s.toolTime = s.histogram("tool_call_seconds", "How long a tool call took.", toolBuckets)
	s.collectErrors = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "collect_errors_total", Help: "Times that queue depths could not be read.",
	})
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1, with the version as a label.",
	}, []string{"version"})
	build.WithLabelValues(clean(version)).Set(1)
	s.addParts()
	s.own.MustRegister(s.modelTime, s.collectErrors, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

const namespace = "dragoman"

// Listener hears of some of what a [Set] counts, at that moment. It must not block.
type Listener interface {
	Accepted(channel, outcome string)
	Delivered(channel, outcome string)
	ModelCall(took time.Duration)
	StoreCall(operation string, took time.Duration)
}

// Listen makes l hear what s counts. Call it once, before anything is counted.
func (s *Set) Listen(l Listener) { s.listener = l }

// nobody is the Listener of a Set without one.
type nobody struct{}

func (nobody) Accepted(string, string)         {}
func (nobody) Delivered(string, string)        {}
func (nobody) ModelCall(time.Duration)         {}
func (nobody) StoreCall(string, time.Duration) {}

// Handler serves the text format.
func (s *Set) Handler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{
		// A failing collector must not hide the others.
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	})
}

// Accepted counts a message that a channel handed in.
func (s *Set) Accepted(channel, outcome string) {
	s.accepted.add(1, channel, outcome)
	s.listener.Accepted(channel, outcome)
}

// Quarantined counts a message that a channel could not understand.
func (s *Set) Quarantined(channel string) {
	s.quarantined.add(1, channel)
}

// TurnEnded counts a turn.
func (s *Set) TurnEnded(outcome string, took time.Duration) {
	s.turns.add(1, outcome)
	s.turnTime.Observe(took.Seconds())
}

// Delivered counts an attempt to deliver.
func (s *Set) Delivered(channel, outcome string) {
	s.delivered.add(1, channel, outcome)
	s.listener.Delivered(channel, outcome)
}

// Repeated counts a message that was sent again although it may have arrived.
func (s *Set) Repeated(channel string) {
	s.repeats.add(1, channel)
}

// SilentCut counts a request that a model's server cut without an error.
func (s *Set) SilentCut(model string) {
	s.silentCuts.add(1, model)
}

// Summarized counts an attempt at a summary.
func (s *Set) Summarized(outcome string, took time.Duration) {
	s.summaries.add(1, outcome)
	s.summaryTime.Observe(max(took, 0).Seconds())
}

// Unaccounted counts messages that a request neither showed nor had a summary of. said:
// the request says how many it leaves out.
func (s *Set) Unaccounted(n int, said bool) {
	s.unaccounted.add(float64(n), yesNo(said))
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Heartbeat counts an occurrence of a job.
func (s *Set) Heartbeat(job, outcome string) { s.Heartbeats(job, outcome, 1) }

// Heartbeats counts n occurrences of a job. With 0 it only makes the counter
// appear, so that its first increase is seen as one.
func (s *Set) Heartbeats(job, outcome string, n int) {
	s.heartbeats.add(float64(n), job, outcome)
}

// LoginFailed counts a wrong token for the page. tooMany: for a while every token is
// refused.
func (s *Set) LoginFailed(tooMany bool) {
	s.logins.add(1, loginFailures[tooMany])
}

var loginFailures = map[bool]string{false: "wrong_token", true: "too_many"}

// Hook counts an event for a hook.
func (s *Set) Hook(event, outcome string) {
	s.hooks.add(1, event, outcome)
}

// ModelCall counts one call to model; outcome is "ok" or the kind of error. The tokens
// are the provider's counts, 0 if it gave none.
func (s *Set) ModelCall(model, outcome string, took time.Duration, input, output, cached int) {
	model = s.modelCalls.add(1, model, outcome)[0]
	s.modelTime.WithLabelValues(model).Observe(took.Seconds())
	s.Phase(PhaseModel, took)
	s.listener.ModelCall(took)
	for kind, n := range map[string]int{"input": input, "output": output, "cached": cached} {
		s.modelTokens.add(float64(n), model, kind)
	}
}

// Cost adds the cost of a call; 0: unknown.
func (s *Set) Cost(model string, cost float64) {
	if cost > 0 {
		s.modelCost.add(cost, model)
	}
}

// ToolCall counts one call of a tool.
func (s *Set) ToolCall(tool, outcome string, took time.Duration) {
	s.toolCalls.add(1, tool, outcome)
	s.toolTime.Observe(took.Seconds())
	s.Phase(PhaseTools, took)
}

func (s *Set) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	s.own.MustRegister(h)
	return h
}

func (s *Set) counter(name, help string, labels ...string) counter {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	s.own.MustRegister(vec)
	return counter{vec: vec, seen: &values{m: make([]map[string]bool, len(labels))}}
}

// counter is a CounterVec that accepts any label value.
type counter struct {
	vec  *prometheus.CounterVec
	seen *values
}

// add returns the labels that it used.
func (c counter) add(n float64, labels ...string) []string {
	labels = c.seen.bound(labels)
	c.vec.WithLabelValues(labels...).Add(max(n, 0)) // a provider may count anything
	return labels
}

// maxValues bounds the values of one label. Each is a time series, and some labels
// come from outside.
const maxValues = 100

// values remembers the values of each label.
type values struct {
	mu sync.Mutex
	m  []map[string]bool
}

func (v *values) bound(labels []string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, label := range labels {
		label = clean(label)
		if v.m[i] == nil {
			v.m[i] = map[string]bool{}
		}
		if !v.m[i][label] && len(v.m[i]) >= maxValues {
			label = "other"
		}
		v.m[i][label] = true
		labels[i] = label
	}
	return labels
}

// clean makes s fit for a label: short and UTF-8.
func clean(s string) string {
	if len(s) > 64 {
		s = s[:64]
	}
	return strings.ToValidUTF8(s, "?")
}
