package provider

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/agent/wire"
)

// Learned is a lesson from a server's refusal.
type Learned struct {
	Name string    `json:"name"` // the model's name
	What string    `json:"what"` // the lesson, like "tools=no"; see lessons
	Said string    `json:"said"` // the server's words, without secrets and chat text
	At   time.Time `json:"at"`
}

// knowledge is what is known of a model. A shared value never changes.
type knowledge struct {
	traits      wire.Traits
	maxPictures int // the most pictures that a request may show
	// attachedAfter: the server refused what its answers up to then came with, like
	// signed thoughts. noAttached: it refuses that of any answer.
	attachedAfter time.Time
	noAttached    bool
	// until is when a lesson ends to count; zero: none does.
	until time.Time
}

// lessonLifetime is how long a lesson counts. Servers are updated, and one refused
// request a day costs little.
const lessonLifetime = 24 * time.Hour

// memory is what a model has learned. It is safe for concurrent use.
type memory struct {
	known   atomic.Pointer[knowledge]
	mu      sync.Mutex
	base    wire.Traits // without lessons
	learned []Learned
}

// current returns what is known now.
func (m *memory) current() *knowledge {
	k := m.known.Load()
	if k.until.IsZero() || time.Now().Before(k.until) {
		return k
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.apply(m.learned)
	return m.known.Load()
}

func (m *memory) load(t wire.Traits, learned []Learned) {
	m.base = t
	m.apply(learned)
}

// apply makes what is known from the lessons that still count. The caller holds mu.
func (m *memory) apply(learned []Learned) {
	now := time.Now()
	k := knowledge{traits: m.base, maxPictures: maxImages}
	m.learned = nil
	for _, l := range learned {
		end := l.At.Add(lessonLifetime)
		if !now.Before(end) || !k.apply(l.What) {
			continue
		}
		m.learned = append(m.learned, l)
		if k.until.IsZero() || end.Before(k.until) {
			k.until = end
		}
	}
	m.known.Store(&k)
}

// apply applies a lesson to k. It reports whether the lesson is known.
func (k *knowledge) apply(what string) bool {
	name, value, _ := strings.Cut(what, "=")
	apply, known := lessons[name]
	if known {
		apply(k, value)
	}
	return known
}

// lessons are the kinds of lessons by name. The names are stored.
var lessons = map[string]func(k *knowledge, value string){
	"api":             func(k *knowledge, v string) { k.traits.API = v },
	"tools_need":      func(k *knowledge, v string) { k.traits.ToolsNeedEffort = v },
	"tools":           func(k *knowledge, v string) { k.traits.NoTools = v == "no" },
	"parallel_calls":  func(k *knowledge, v string) { k.traits.SingleCall = v == "no" },
	"temperature":     func(k *knowledge, v string) { k.traits.NoTemperature = v == "no" },
	"max_tokens":      func(k *knowledge, v string) { k.traits.CompletionTokens = v == "max_completion_tokens" },
	"usage":           func(k *knowledge, v string) { k.traits.NoUsage = v == "no" },
	"response_format": func(k *knowledge, v string) { k.traits.JSONSchema = v != "no" },
	"efforts":         func(k *knowledge, v string) { k.traits.Efforts = append([]string{}, strings.Fields(v)...) },
	"own_thoughts":    func(k *knowledge, v string) { k.traits.NeedsReasoning = v == "yes" },
	"signatures":      func(k *knowledge, v string) { k.traits.NeedsSignatures = v == "yes" },
	"attached": func(k *knowledge, v string) {
		after, err := time.Parse(time.RFC3339Nano, v)
		if err == nil {
			k.attachedAfter = after
		}
		k.noAttached = v == "no"
	},
	"pictures": func(k *knowledge, v string) {
		if n, err := strconv.Atoi(v); err == nil && n >= 0 {
			k.maxPictures = min(n, maxImages)
		}
	},
}

// Learned returns all lessons, oldest first.
func (m *Model) Learned() []Learned {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	return slices.Clone(m.memory.learned)
}

// SetEfforts sets the reasoning efforts that the server says the model has,
// from least to most. A lesson about efforts counts more, earlier or later.
// SetEfforts is safe for concurrent use and does not change running calls.
func (m *Model) SetEfforts(efforts []string) {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	m.memory.base.Efforts = slices.Clone(efforts)
	m.memory.apply(m.memory.learned)
}

// remember keeps the lessons of a call that then succeeded.
func (m *Model) remember(learned []Learned) {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	all := slices.Clone(m.memory.learned)
	for _, l := range learned {
		name, _, _ := strings.Cut(l.What, "=")
		all = slices.DeleteFunc(all, func(old Learned) bool { return strings.HasPrefix(old.What, name+"=") })
		all = append(all, l)
		m.o.Logger.Warn("the model's server refused a part of the request; later requests leave it out",
			"model", m.o.Name, "learned", l.What, "said", l.Said)
	}
	m.memory.apply(all)
}

// learn applies a lesson to the next request of t. It returns false if the
// lesson is not new, so that a server which contradicts itself is not asked
// forever.
func (t *try) learn(what string, refusal *wire.ServerError) bool {
	known := t.known
	if !known.apply(what) {
		panic(fmt.Sprintf("provider: %q is not a lesson", what))
	}
	if reflect.DeepEqual(known, t.known) || slices.ContainsFunc(t.learned, func(l Learned) bool { return l.What == what }) {
		return false
	}
	t.known = known
	t.learned = append(t.learned, Learned{Name: t.m.o.Name, What: what, Said: refusal.Quote(t.r), At: time.Now().UTC()})
	return true
}
