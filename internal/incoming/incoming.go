// Package incoming takes webhooks of other programs: a call of POST /api/v1/hooks/NAME
// becomes a prompt or a message in a conversation.
//
// The promise. Nothing of a call is looked at before its signature or secret is known to be
// right, over the body as it came and in constant time. A call is answered 2xx only when
// what it leads to is on disk. A repeat of a call that named itself leads to nothing
// more, for seven days at least, also after a crash: it has one id, and the store takes an id
// once. What came with a call is data of the origin hook:NAME: it is never a command, and a
// model sees which words are those of the template and which are not.
//
// Failures:
//
//	what is wrong                              what the caller gets
//	more than some wrong calls of one address  429, before anything is read
//	a body that is too large                   413, before it is checked
//	no secret, a wrong one, another hook's,    401, the same for all of these
//	a changed body, no such hook
//	a signature of more than 5 minutes ago     401
//	a template that needs JSON, and no JSON    400
//	more calls in an hour than the hook may    429; repeats do not count
//	too many messages wait in the conversation 429
//	the owner may not write there              400
//	the daemon stops                           503
//	a repeat                                   200, and "repeated": true
//	a crash before the answer                  nothing; the caller's repeat does the rest
//
// The log says why a call was refused, once a minute for each hook, and never shows a secret
// or a body.
//
// Goroutines: none. Everything may be used concurrently.
package incoming

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/respond"
	"dragoman/internal/webhook"
)

// Repeats says by what a repeat of a call is known.
type Repeats string

// The values of Hook.Repeats.
const (
	ByID       Repeats = "id"         // by the id that the call names; without one, each call is new
	ByIDOrBody Repeats = "id_or_body" // by the id, or by its body if it names none
	ByBody     Repeats = "body"       // by its body alone
)

// Hook is what may be called.
type Hook struct {
	Name string
	// Checker knows the hook's callers.
	Checker webhook.Checker
	// To is the conversation that Text is for: as a prompt that is answered there, or, with
	// Message, as a message that the chat is sent as it is.
	To      channels.Key
	Text    webhook.Template
	Message bool
	// Owner is who the turns count for; zero: the operator.
	Owner   channels.Person
	Repeats Repeats
	PerHour int   // calls; 0: 60
	MaxBody int64 // in bytes; 0: 1 MiB
}

// Call is what a call leads to.
type Call struct {
	Hook string
	To   channels.Key
	// ID names it and its repeats, and FormerID is what it would have been called some days
	// ago; "": it is new.
	ID, FormerID string
	Owner        channels.Person
	// Text is the prompt, or the message in Markdown.
	Text string
	// Shown is what the transcript has of a message; "" with a prompt.
	Shown string
}

// Taker stores calls: a gateway.
type Taker interface {
	// Take stores what a call leads to, and reports whether it was stored before. An error
	// that the caller is to read is a [respond.Refusal].
	Take(ctx context.Context, c Call) (repeated bool, err error)
}

// Options tune the hooks. The zero value works.
type Options struct {
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger
}

// Hooks are all hooks of a daemon that may be called.
type Hooks struct {
	opts  Options
	taker Taker
	peers peers

	mu    sync.Mutex
	hooks map[string]*hook
}

// hook is a Hook and its calls.
type hook struct {
	Hook
	mu     sync.Mutex
	recent []time.Time // the calls of the last hour
	logged time.Time   // the last refusal in the log
}

// New makes hooks whose calls taker takes.
func New(list []Hook, taker Taker, o Options) *Hooks {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Hooks{opts: o, taker: taker, peers: peers{now: o.Now}}
	h.Replace(list)
	return h
}

// Replace replaces all hooks. One of the same name keeps its count of calls.
func (h *Hooks) Replace(list []Hook) {
	next := map[string]*hook{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range list {
		one.PerHour = cmp.Or(one.PerHour, 60)
		one.MaxBody = cmp.Or(one.MaxBody, 1<<20)
		made := &hook{Hook: one}
		if was := h.hooks[one.Name]; was != nil {
			was.mu.Lock()
			made.recent = was.recent
			was.mu.Unlock()
		}
		next[one.Name] = made
	}
	h.hooks = next
}

// named is the hook of that name. Of one that does not exist, the callers are unknown.
func (h *Hooks) named(name string) *hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	if found := h.hooks[name]; found != nil {
		return found
	}
	return &hook{Hook: Hook{MaxBody: 1 << 20}}
}

// errRefused is what whoever has not the secret learns.
var errRefused = &respond.Refusal{
	Status: http.StatusUnauthorized, Code: "invalid_signature", Sentence: "This hook does not exist, or its secret or signature is wrong.",
}

// Answer is what the caller gets.
type Answer struct {
	Hook     string
	ID       string // of the call; "": it named none
	Repeated bool
}

// Take takes a call of the hook of that name. peer is the address that it comes from. Errors
// are refusals, or those of the Taker.
func (h *Hooks) Take(r *http.Request, name, peer string) (Answer, error) {
	now := h.opts.Now()
	if !h.peers.may(peer) {
		return Answer{}, &respond.Refusal{Status: http.StatusTooManyRequests, Sentence: "Too many wrong calls from this address. Wait a minute."}
	}
	hook := h.named(name)
	body, err := read(r, hook.MaxBody)
	if err != nil {
		return Answer{}, err
	}
	if why := hook.Checker.Check(r.Header, body, now); why != nil {
		h.peers.failed(peer)
		h.tell(hook, name, why)
		if errors.Is(why, webhook.ErrTooOld) {
			return Answer{}, &respond.Refusal{Status: http.StatusUnauthorized, Code: "invalid_signature", Sentence: "The call's time is more than five minutes from ours."}
		}
		return Answer{}, errRefused
	}
	call, id, err := hook.call(r.Header, body, now)
	if err != nil {
		return Answer{}, err
	}
	release, err := hook.count(now)
	if err != nil {
		h.tell(hook, name, err)
		return Answer{}, err
	}
	repeated, err := h.taker.Take(r.Context(), call)
	if err != nil || repeated {
		release()
	}
	return Answer{Hook: name, ID: id, Repeated: repeated}, err
}

// read reads a body that may have most bytes.
func read(r *http.Request, most int64) ([]byte, error) {
	tooLarge := &respond.Refusal{Status: http.StatusRequestEntityTooLarge, Sentence: "The body may have " + strconv.FormatInt(most, 10) + " bytes."}
	if r.ContentLength > most {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return nil, &respond.Refusal{Status: http.StatusBadRequest, Sentence: "The body could not be read.", Cause: err}
	}
	if int64(len(body)) > most {
		return nil, tooLarge
	}
	return body, nil
}

// week is for how long at least a repeat is known.
const week = 7 * 24 * time.Hour

// call is what a call leads to, and the id that it named.
func (k *hook) call(header http.Header, body []byte, now time.Time) (c Call, id string, err error) {
	m := webhook.NewMessage(header, body)
	if !m.IsJSON() && k.needsJSON() {
		return c, "", &respond.Refusal{Status: http.StatusBadRequest, Sentence: "The body is no JSON."}
	}
	id = k.Checker.Delivery(header)
	what := "id " + id
	if k.Repeats == ByBody || id == "" && k.Repeats == ByIDOrBody {
		sum := sha256.Sum256(body)
		what = "body " + hex.EncodeToString(sum[:])
	} else if id == "" {
		what = ""
	}
	c = Call{Hook: k.Name, To: k.To, Owner: k.Owner}
	if what != "" {
		// The store knows an id for ever. With the week in it, the same body counts as new
		// in a month.
		n := now.Unix() / int64(week.Seconds())
		c.ID = what + " " + strconv.FormatInt(n, 10)
		c.FormerID = what + " " + strconv.FormatInt(n-1, 10)
	}
	quoted := webhook.Preface(k.Name) + k.Text.Fill(m, webhook.Quoted)
	if k.Message {
		c.Text = k.Text.Fill(m, webhook.Literal)
		c.Shown = "[This message was delivered to the chat.] " + quoted
	} else {
		c.Text = quoted
	}
	return c, id, nil
}

// needsJSON reports whether the template names a value of the body's JSON.
func (k *hook) needsJSON() bool {
	for _, path := range k.Text.Places() {
		if path != "body" && !isHeader(path) {
			return true
		}
	}
	return false
}

func isHeader(path string) bool { return len(path) > 7 && path[:7] == "header." }

// tell logs why a call was refused.
func (h *Hooks) tell(k *hook, name string, why error) {
	k.mu.Lock()
	now := h.opts.Now()
	quiet := now.Sub(k.logged) < time.Minute
	if !quiet {
		k.logged = now
	}
	k.mu.Unlock()
	if k.Name == "" {
		h.opts.Logger.Debug("a call of a hook that does not exist", "hook", name)
	} else if !quiet {
		h.opts.Logger.Warn("a call of a hook was refused", "hook", name, "err", why)
	}
}
