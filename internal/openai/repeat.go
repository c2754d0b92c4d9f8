package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/agent/window"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// What is kept for repeats and for unfinished steps are notes of one kind, of the person
// who asks. Those that are over go when there is a new one, and by themselves.
const (
	repeatKind = "repeat"
	keyPrefix  = "key-"  // of the name of a request with a key; the hash follows
	bodyPrefix = "body-" // the same without a key: the hash of the body
	callPrefix = "call-" // the id of a call that was returned

	keyLife  = 24 * time.Hour
	bodyLife = 10 * time.Minute
	callLife = time.Hour

	// maxKept is how many notes somebody may have after there was room made for more.
	maxKept = sessions.MaxNotes - 4*roomEvery
	// keptBytes bounds what a note holds; the store takes little more.
	keptBytes = 60 << 10
	// maxKey bounds an Idempotency-Key.
	maxKey = 255
)

// kept is what a note holds. On disk: it only gains fields.
type kept struct {
	// Body is the SHA-256 of the request.
	Body string `json:"body,omitempty"`
	// Turn is the id of its turn, and Steps what it did until it was cut off.
	Turn  string          `json:"turn,omitempty"`
	Steps []sessions.Step `json:"steps,omitempty"`
	// Began: a tool of ours has begun.
	Began bool `json:"began,omitempty"`
	// Answer is that of a turn that has ended.
	Answer *outcome `json:"answer,omitempty"`
	// Lost: what was done is too large to be kept, so that it cannot be repeated.
	Lost bool `json:"lost,omitempty"`
	// Part is what a turn did whose calls were returned.
	Part []sessions.Message `json:"part,omitempty"`
	// Message is the id under which a conversation has the request.
	Message string `json:"message,omitempty"`
}

// attempt is one request, as far as repeats go. Its owner is the goroutine of the request;
// mu guards what the turn changes beside it.
type attempt struct {
	s     *server
	owner string
	name  string
	life  time.Duration
	keyed bool
	// again: it says that it is a repeat, or may be one.
	again bool

	mu     sync.Mutex
	kept   kept
	stored bool
}

// flight is a request whose turn runs, for repeats that come meanwhile.
type flight struct {
	body string
	view *view
	done chan struct{} // closed when the others are set
	out  *outcome
	err  error
}

// flights are the running requests, by owner and name.
type flights struct {
	mu sync.Mutex
	m  map[string]*flight
}

// attemptOf reads from a request what it says about repeats.
func (s *server) attemptOf(r *http.Request, who people.Principal, body []byte) (*attempt, error) {
	sum := func(parts ...string) string {
		h := sha256.New()
		for _, p := range parts {
			h.Write([]byte(p))
			h.Write([]byte{0})
		}
		return hex.EncodeToString(h.Sum(nil))
	}
	token := who.Token + "/" + who.TokenID
	a := &attempt{s: s, owner: who.ID}
	a.kept.Body = sum(r.URL.Path, r.Header.Get(sessionHeader), r.Header.Get(taskHeader), string(body))
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		a.name = bodyPrefix + sum(token, a.kept.Body)
		a.life = bodyLife
		times, _ := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count"))
		a.again = times > 0
		return a, nil
	}
	visible := func(c rune) bool { return c > ' ' && c < 0x7f }
	if len(key) > maxKey || slices.ContainsFunc([]rune(key), func(c rune) bool { return !visible(c) }) {
		return nil, bad("Idempotency-Key", fmt.Sprintf("Idempotency-Key must be 1 to %d visible ASCII characters.", maxKey))
	}
	a.name = keyPrefix + sum(token, key)
	a.life = keyLife
	a.keyed = true
	a.again = true
	return a, nil
}

// begin enters a, whose answer v shows, into the running requests. If it is a repeat of
// one, it returns that one instead.
func (a *attempt) begin(v *view) (mine, other *flight) {
	f := &a.s.flights
	f.mu.Lock()
	defer f.mu.Unlock()
	id := a.owner + "\x00" + a.name
	if found := f.m[id]; found != nil && a.again {
		return nil, found
	}
	if f.m == nil {
		f.m = map[string]*flight{}
	}
	mine = &flight{body: a.kept.Body, view: v, done: make(chan struct{})}
	f.m[id] = mine
	return mine, nil
}

// end tells those who wait for a how it ended.
func (a *attempt) end(mine *flight, out *outcome, err error) {
	f := &a.s.flights
	f.mu.Lock()
	id := a.owner + "\x00" + a.name
	if f.m[id] == mine {
		delete(f.m, id)
	}
	f.mu.Unlock()
	mine.out, mine.err = out, err
	close(mine.done)
}

var errReused = &respond.Refusal{
	Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused", Param: "Idempotency-Key",
	Sentence: "This key was sent with another request. Use a new one for each request.",
}

var errNotKept = &respond.Refusal{
	Status: http.StatusUnprocessableEntity, Code: "not_kept",
	Sentence: "This request was answered before, and the answer was too large to be kept for a repeat.",
}

// load looks for an earlier attempt that this one repeats. It returns its answer, or nil
// if the turn has to run: from the beginning, or from the steps that were kept.
func (a *attempt) load(ctx context.Context) (*outcome, error) {
	if !a.again {
		return nil, nil
	}
	notes, err := a.s.Store.Notes(ctx, sessions.NoteFilter{Kind: repeatKind, Owner: a.owner, Name: a.name})
	if err != nil {
		return nil, a.s.unavailable(err)
	}
	if len(notes) == 0 || !a.s.Now().Before(notes[0].Due) {
		return nil, nil
	}
	var before kept
	if err := json.Unmarshal(notes[0].Data, &before); err != nil {
		return nil, fmt.Errorf("openai: read what is kept of a request: %w", err)
	}
	switch {
	case before.Body != a.kept.Body:
		return nil, errReused
	case before.Lost:
		return nil, errNotKept
	}
	a.kept = before
	a.stored = true
	return before.Answer, nil
}

// note stores what is known of the request, and what else is given, in one step.
func (a *attempt) note(ctx context.Context, more ...sessions.Note) error {
	data, err := a.kept.encode()
	if err != nil {
		return err
	}
	put := append(more, sessions.Note{Name: a.name, Due: a.s.Now().Add(a.life), Data: data})
	if err := a.s.put(ctx, repeatKind, a.owner, maxKept, put...); err != nil {
		return err
	}
	a.stored = true
	return nil
}

// roomEvery is how many notes are added before there is room made for more. To look at all
// of somebody's notes each time would cost more than a turn.
const roomEvery = 128

// put stores notes of a kind and person. Now and then it also removes those that are over,
// and the oldest beyond most: so there may be roomEvery more, on each node.
func (s *server) put(ctx context.Context, kind, owner string, most int, put ...sessions.Note) error {
	counter, _ := s.since.LoadOrStore(kind+" "+owner, new(atomic.Int64))
	added := counter.(*atomic.Int64)
	var err error
	if added.Add(1)%roomEvery == 1 { // also at the first after a start
		err = s.putAndMakeRoom(ctx, kind, owner, most, put)
	} else {
		for i := range put {
			put[i].Kind = kind
			put[i].Owner = owner
		}
		err = s.Store.AddNotes(ctx, put...)
	}
	if err != nil {
		return s.unavailable(err)
	}
	return nil
}

// putAndMakeRoom stores notes in place of those that are over, and of the oldest if there
// are more than most.
func (s *server) putAndMakeRoom(ctx context.Context, kind, owner string, most int, put []sessions.Note) error {
	now := s.Now()
	return s.Store.ChangeNotes(ctx, kind, owner, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		var over []string
		left := have[:0:0]
		for _, n := range have {
			replaced := slices.ContainsFunc(put, func(p sessions.Note) bool { return p.Name == n.Name })
			switch {
			case replaced:
			case !now.Before(n.Due):
				over = append(over, n.Name)
			default:
				left = append(left, n)
			}
		}
		slices.SortFunc(left, func(x, y sessions.Note) int { return x.Due.Compare(y.Due) })
		for len(left)+len(put) > most {
			over = append(over, left[0].Name)
			left = left[1:]
		}
		return put, over, nil
	})
}

// unavailable is the refusal of a request whose store fails.
func (s *server) unavailable(err error) error {
	s.Logger.Warn("what a request needs cannot be stored or read", "err", err)
	return &respond.Refusal{Status: http.StatusServiceUnavailable, Sentence: "Dragoman cannot read or write its store just now.", Cause: err}
}

// step keeps a step of the turn, before the next one depends on it.
func (a *attempt) step(ctx context.Context, step sessions.Step) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Steps = append(a.kept.Steps, step)
	a.kept.Began = a.kept.Began || step.Kind == sessions.StepToolStart
	return a.note(ctx)
}

// began reports whether a tool of ours has begun.
func (a *attempt) began() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept.Began
}

// finish keeps the answer for repeats, and what the turn did for when its calls are
// answered. An answer without either is not kept.
func (a *attempt) finish(ctx context.Context, out *outcome, part []sessions.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var more []sessions.Note
	hidden := len(part) > 1 || len(part) == 1 && part[0].Attached != nil
	if len(out.Calls) > 0 && hidden {
		data, err := (&kept{Part: part}).encode()
		if err != nil {
			return err
		}
		more = append(more, sessions.Note{Name: callPrefix + out.Calls[0].ID, Due: a.s.Now().Add(callLife), Data: data})
	}
	if !a.keyed && !a.stored {
		if len(more) == 0 {
			return nil
		}
		return a.s.put(ctx, repeatKind, a.owner, maxKept, more...)
	}
	a.kept.Answer = out
	a.kept.Steps = nil
	return a.note(ctx, more...)
}

// encode is k as a note holds it. Long results of tools are shortened, all of them alike,
// until it fits.
func (k *kept) encode() (json.RawMessage, error) {
	fit := *k
	for most := keptBytes / 2; ; most /= 2 {
		data, err := json.Marshal(&fit)
		if err != nil {
			return nil, fmt.Errorf("openai: keep a request: %w", err)
		}
		if len(data) <= keptBytes {
			return data, nil
		}
		if most < 256 {
			break
		}
		fit.Steps = slices.Clone(k.Steps)
		for i, step := range fit.Steps {
			if step.Message != nil && step.Message.Role == sessions.RoleTool {
				m := *step.Message
				m.Content = window.Clip(m.Content, most)
				fit.Steps[i].Message = &m
			}
		}
		fit.Part = slices.Clone(k.Part)
		for i := range fit.Part {
			if fit.Part[i].Role == sessions.RoleTool {
				fit.Part[i].Content = window.Clip(fit.Part[i].Content, most)
			}
		}
	}
	return json.Marshal(&kept{Body: k.Body, Turn: k.Turn, Began: k.Began, Message: k.Message, Lost: true})
}

// errNoPart: nothing is kept under the ids of a message.
var errNoPart = errors.New("openai: nothing is kept of this step")

// part is what a turn did that ended with these calls.
func (s *server) part(ctx context.Context, owner string, calls []sessions.ToolCall) ([]sessions.Message, error) {
	for _, c := range calls {
		if len(callPrefix+c.ID) > sessions.MaxNoteName {
			continue
		}
		notes, err := s.Store.Notes(ctx, sessions.NoteFilter{Kind: repeatKind, Owner: owner, Name: callPrefix + c.ID})
		if err != nil {
			return nil, s.unavailable(err)
		}
		if len(notes) == 0 || !s.Now().Before(notes[0].Due) {
			continue
		}
		var k kept
		if err := json.Unmarshal(notes[0].Data, &k); err == nil && len(k.Part) > 0 {
			return k.Part, nil
		}
	}
	return nil, errNoPart
}
