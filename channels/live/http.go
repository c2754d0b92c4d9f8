package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/internal/respond"
)

const (
	// maxDrain is how much of an oversized message we still read, so that its sender
	// gets the refusal instead of a broken connection.
	maxDrain = 32 << 20
	// bodyTimeout bounds how long sending a message may take.
	bodyTimeout = 60 * time.Second
	maxHistory  = 200
)

var clientID = lazily.Compile(`^[A-Za-z0-9_-]{8,64}$`)

func badRequest(sentence string) error {
	return &respond.Refusal{Status: http.StatusBadRequest, Sentence: sentence}
}

func tooLarge(sentence string) error {
	return &respond.Refusal{Status: http.StatusRequestEntityTooLarge, Sentence: sentence}
}

var errNoSuchRoom = &respond.Refusal{
	Status: http.StatusNotFound, Param: "room",
	Sentence: "There is no such room. A room's name has 1 to 64 of a-z, 0-9, _ and -.",
}

// unavailable refuses what may succeed later.
func unavailable(sentence string) error {
	return &respond.Refusal{Status: http.StatusServiceUnavailable, Sentence: sentence}
}

// Handler is the rooms' HTTP API, to be mounted under a prefix that is stripped. It
// does not authenticate requests; the caller must.
//
//	POST /messages {"id": …, "text": …}   send a message; id makes retries safe
//	POST /stop     {"id": …} or nothing   the same as the message "/stop"
//	GET  /feed?before=SEQ&limit=N         {"items": […]}, oldest first
//	GET  /events?after=SEQ                server-sent events
//	POST /files    the file itself        {"ref": …, "bytes": …}, for a message's "files"
//	GET  /file?seq=SEQ&n=N                file N (from 0) of the message numbered SEQ
//
// All accept ?room=NAME. A refusal has the form that internal/respond describes.
func (h *Hub) Handler() http.Handler { return h.serve }

func (h *Hub) routes() http.Handler {
	type route struct {
		method string
		do     func(http.ResponseWriter, *http.Request, channels.Key) error
	}
	table := map[string]route{
		"/messages": {http.MethodPost, h.postMessage},
		"/stop":     {http.MethodPost, h.postStop},
		"/feed":     {http.MethodGet, h.readFeed},
		"/events":   {http.MethodGet, h.events},
		"/files":    {http.MethodPost, h.postFile},
		"/file":     {http.MethodGet, h.readFile},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, found := table[r.URL.Path]
		if !found {
			respond.Refuse(w, respond.ErrNothing)
			return
		}
		if r.Method != to.method {
			respond.Refuse(w, respond.WrongMethod(to.method))
			return
		}
		k, err := h.key(h.opts.Visitor(r), r.URL.Query().Get("room"))
		if err != nil {
			respond.Refuse(w, errNoSuchRoom)
			return
		}
		if err := to.do(w, r, k); err != nil {
			respond.Refuse(w, err)
		}
	})
}

// posted is the body of POST /messages and POST /stop.
type posted struct {
	ID    string       `json:"id"`
	Text  string       `json:"text"`
	Files []postedFile `json:"files,omitempty"`
}

func (h *Hub) postMessage(w http.ResponseWriter, r *http.Request, k channels.Key) error {
	var p posted
	if err := h.readBody(w, r, &p); err != nil {
		return err
	}
	switch {
	case !clientID.Regexp().MatchString(p.ID):
		return badRequest("The message needs an id of 8 to 64 letters, digits, _ or -.")
	case strings.TrimSpace(p.Text) == "" && len(p.Files) == 0:
		return badRequest("The message is empty.")
	case strings.ContainsRune(p.Text, 0):
		return badRequest("The message holds a NUL character; only text can be sent.")
	case len(p.Text) > h.opts.MaxText:
		return h.tooLong()
	}
	return h.submit(w, r, k, p)
}

func (h *Hub) postStop(w http.ResponseWriter, r *http.Request, k channels.Key) error {
	p := posted{ID: "stop-" + rand.Text()}
	if r.ContentLength != 0 {
		p.ID = ""
		if err := h.readBody(w, r, &p); err != nil {
			return err
		}
		if p.Text != "" || len(p.Files) > 0 || !clientID.Regexp().MatchString(p.ID) {
			return badRequest("A stop needs an id of 8 to 64 letters, digits, _ or -, and no text.")
		}
	}
	p.Text = "/stop"
	return h.submit(w, r, k, p)
}

func (h *Hub) tooLong() error {
	return tooLarge(fmt.Sprintf("The message is too long: at most %s fit.", sizeText(h.opts.MaxText)))
}

func sizeText(n int) string {
	if n%(1<<10) == 0 {
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " bytes"
}

// readBody reads exactly one JSON object into p. It refuses unknown fields, further
// values and invalid UTF-8.
func (h *Hub) readBody(w http.ResponseWriter, r *http.Request, p *posted) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // if unsupported, the server's own limits apply
	// A character may take six bytes of JSON ("\u00e9").
	limit := int64(h.opts.MaxText)*6 + 1024
	if h.opts.Files != nil {
		limit += channels.MaxAttachments * 2048
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return badRequest("The message did not arrive completely.")
	}
	if int64(len(body)) > limit {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return h.tooLong()
	}
	if !utf8.Valid(body) {
		return badRequest("The message is not valid UTF-8.")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
			return badRequest(fmt.Sprintf("The field %.60s is unknown here.", name))
		}
		return badRequest(`The body must be JSON like {"id": "…", "text": "…"}.`)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return badRequest("There is something after the JSON object.")
	}
	return nil
}

// submit gives a message to the intake and answers 200 once it is durable.
func (h *Hub) submit(w http.ResponseWriter, r *http.Request, k channels.Key, p posted) error {
	ctx, in, end, running := h.beginPost(r.Context())
	if !running {
		return notReady()
	}
	defer end()
	m := channels.Inbound{
		Key: k, ID: p.ID + ownMark(k), MessageID: p.ID + ownMark(k), Sender: channels.Person{IDs: []string{h.opts.Visitor(r).ID}},
		Text: p.Text, Private: true, At: time.Now(),
	}
	if err := h.attachFiles(&m, p.Files); err != nil {
		return err
	}
	room := h.acquire(k)
	defer h.release(room)
	if err := room.accept(ctx, in, m); err != nil {
		h.log.Warn("message not accepted", "key", k.String(), "msg_id", p.ID, "err", err)
		return unavailable(whyNotStored(err))
	}
	h.follow(ctx, room, nil)
	h.notifyPeers(ctx, room, peerMessage{Kind: peerFeedChanged})
	respond.JSON(w, http.StatusOK, map[string]string{"id": p.ID})
	return nil
}

// whyNotStored tells the sender why a message was not accepted. SQLite reports a full
// disk only in words, not as an error value.
func whyNotStored(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || strings.Contains(err.Error(), "disk is full") {
		return "The disk is full, so the message could not be stored."
	}
	return "The message could not be stored. It is safe to send it again."
}

// accept gives m to the intake, after the messages before it.
func (r *room) accept(ctx context.Context, in channels.Intake, m channels.Inbound) error {
	select {
	case r.accepting <- struct{}{}:
		defer func() { <-r.accepting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return in.Accept(ctx, m)
}

func notReady() error {
	return unavailable("Dragoman is starting or stopping. Try again in a moment.")
}

func (h *Hub) readFeed(w http.ResponseWriter, r *http.Request, k channels.Key) error {
	before, okBefore := number(r.URL.Query().Get("before"), 0)
	limit, okLimit := number(r.URL.Query().Get("limit"), 50)
	if !okBefore || !okLimit {
		return badRequest("before and limit must be whole numbers, 0 or more.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), feedTimeout)
	defer cancel()
	items, err := h.feed(ctx, k, before, int(min(max(limit, 1), maxHistory)))
	if err != nil {
		return h.noHistory(k, err)
	}
	if items == nil {
		items = []Item{}
	}
	respond.JSON(w, http.StatusOK, map[string][]Item{"items": items})
	return nil
}

// noHistory logs why the feed cannot be read and returns the refusal.
func (h *Hub) noHistory(k channels.Key, err error) error {
	h.log.Warn("history could not be read", "key", k.String(), "err", err)
	return unavailable("The history cannot be read just now. Try again.")
}

// number parses a whole number, 0 or more; absent if s is empty.
func number(s string, absent int64) (int64, bool) {
	if s == "" {
		return absent, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}
