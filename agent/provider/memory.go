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

// Learned is something that a server's refusal taught.
type Learned struct {
	Name string    `json:"name"` // of the model
	What string    `json:"what"` // like "tools=no"; see lessons
	Said string    `json:"said"` // in the server's words, without secrets and chat
	At   time.Time `json:"at"`
}

// knowledge is what is known of a model. It is never changed once others see it.
type knowledge struct {
	traits wire.Traits
	most   int // pictures that a request may show
}

// memory is what a model has learnt. It is safe for concurrent use.
type memory struct {
	known   atomic.Pointer[knowledge]
	mu      sync.Mutex
	learned []Learned
}

func (m *memory) now() *knowledge { return m.known.Load() }

// begin starts with what was known before.
func (m *memory) begin(t wire.Traits, learned []Learned) {
	k := knowledge{traits: t, most: mostImages}
	for _, l := range learned {
		if k.apply(l.What) {
			m.learned = append(m.learned, l)
		}
	}
	m.known.Store(&k)
}

// apply changes k by what was learnt. It reports whether that means anything.
func (k *knowledge) apply(what string) bool {
	name, value, _ := strings.Cut(what, "=")
	set := lessons[name]
	if set != nil {
		set(k, value)
	}
	return set != nil
}

// lessons are what can be learnt of a model, by name.
var lessons = map[string]func(k *knowledge, value string){
	"api":             func(k *knowledge, v string) { k.traits.API = v },
	"tools_need":      func(k *knowledge, v string) { k.traits.ToolsNeed = v },
	"tools":           func(k *knowledge, v string) { k.traits.NoTools = v == "no" },
	"parallel_calls":  func(k *knowledge, v string) { k.traits.OneCall = v == "no" },
	"temperature":     func(k *knowledge, v string) { k.traits.NoTemperature = v == "no" },
	"max_tokens":      func(k *knowledge, v string) { k.traits.CompletionTokens = v == "max_completion_tokens" },
	"usage":           func(k *knowledge, v string) { k.traits.NoUsage = v == "no" },
	"response_format": func(k *knowledge, v string) { k.traits.Formats = v != "no" },
	"efforts":         func(k *knowledge, v string) { k.traits.Efforts = append([]string{}, strings.Fields(v)...) },
	"own_thoughts":    func(k *knowledge, v string) { k.traits.OwnThoughts = v == "yes" },
	"signatures":      func(k *knowledge, v string) { k.traits.Signatures = v == "yes" },
	"pictures": func(k *knowledge, v string) {
		if n, err := strconv.Atoi(v); err == nil && n >= 0 {
			k.most = min(n, mostImages)
		}
	},
}

// Learned returns what the server's refusals have taught, oldest first.
func (m *Model) Learned() []Learned {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	return slices.Clone(m.memory.learned)
}

// TakeEfforts tells the model which reasoning efforts its server says it has,
// from least to most. A refusal knows better, before and after. It is safe for
// concurrent use; calls that run are not changed.
func (m *Model) TakeEfforts(efforts []string) {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	if slices.ContainsFunc(m.memory.learned, func(l Learned) bool { return strings.HasPrefix(l.What, "efforts=") }) {
		return
	}
	k := *m.memory.now()
	k.traits.Efforts = slices.Clone(efforts)
	m.memory.known.Store(&k)
}

// remember keeps what a call has learnt that went well in the end.
func (m *Model) remember(learnt []Learned) {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	k := *m.memory.now()
	for _, l := range learnt {
		name, _, _ := strings.Cut(l.What, "=")
		m.memory.learned = slices.DeleteFunc(m.memory.learned, func(old Learned) bool { return strings.HasPrefix(old.What, name+"=") })
		m.memory.learned = append(m.memory.learned, l)
		k.apply(l.What)
		m.o.Logger.Warn("the model's server refused a part of the request; from now on it is asked otherwise",
			"model", m.o.Name, "learned", l.What, "said", l.Said)
	}
	m.memory.known.Store(&k)
}

// learn notes what t changes for its next request. It reports whether that is
// anything new: a server that contradicts itself is not asked for ever.
func (t *try) learn(what string, said *wire.Said) bool {
	known := t.know
	if !known.apply(what) {
		panic(fmt.Sprintf("provider: %q is not a lesson", what))
	}
	if reflect.DeepEqual(known, t.know) || slices.ContainsFunc(t.learnt, func(l Learned) bool { return l.What == what }) {
		return false
	}
	t.know = known
	t.learnt = append(t.learnt, Learned{Name: t.m.o.Name, What: what, Said: said.Quote(t.r), At: time.Now().UTC()})
	return true
}
