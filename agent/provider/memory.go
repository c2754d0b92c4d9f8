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
}

// memory is what a model has learned. It is safe for concurrent use.
type memory struct {
	known   atomic.Pointer[knowledge]
	mu      sync.Mutex
	learned []Learned
}

func (m *memory) current() *knowledge { return m.known.Load() }

func (m *memory) load(t wire.Traits, learned []Learned) {
	k := knowledge{traits: t, maxPictures: maxImages}
	for _, l := range learned {
		if k.apply(l.What) {
			m.learned = append(m.learned, l)
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
	if slices.ContainsFunc(m.memory.learned, func(l Learned) bool { return strings.HasPrefix(l.What, "efforts=") }) {
		return
	}
	k := *m.memory.current()
	k.traits.Efforts = slices.Clone(efforts)
	m.memory.known.Store(&k)
}

// remember keeps the lessons of a call that then succeeded.
func (m *Model) remember(learned []Learned) {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	k := *m.memory.current()
	for _, l := range learned {
		name, _, _ := strings.Cut(l.What, "=")
		m.memory.learned = slices.DeleteFunc(m.memory.learned, func(old Learned) bool { return strings.HasPrefix(old.What, name+"=") })
		m.memory.learned = append(m.memory.learned, l)
		k.apply(l.What)
		m.o.Logger.Warn("the model's server refused a part of the request; later requests leave it out",
			"model", m.o.Name, "learned", l.What, "said", l.Said)
	}
	m.memory.known.Store(&k)
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
