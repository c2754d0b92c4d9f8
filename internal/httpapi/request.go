package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"dragoman/channels"
	"dragoman/sessions"
)

// Page sizes: what a request may ask for, and what it gets when it does not.
const (
	maxPage     = 1000
	defaultPage = 100
)

// verb answers one request with something to encode.
type verb func(ctx context.Context, r *request) (any, error)

func (v verb) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := &request{r: r}
	if r.Method == http.MethodPost {
		var err error
		if req.raw, err = io.ReadAll(r.Body); err == nil && len(req.raw) > 0 {
			err = json.Unmarshal(req.raw, &req.body)
		}
		if err != nil {
			writeFailure(w, &badRequest{"the request's body cannot be understood"})
			return
		}
	}
	body, err := v(r.Context(), req)
	if err == nil {
		err = req.bad
	}
	if err != nil {
		writeFailure(w, err)
		return
	}
	writeJSON(w, http.StatusOK, body)
}

// request is what the verbs ask for, in one shape.
type request struct {
	r    *http.Request
	body struct {
		Key    string `json:"key,omitempty"`
		Title  string `json:"title,omitempty"`
		ID     string `json:"id,omitempty"`
		Name   string `json:"name,omitempty"`
		Code   string `json:"code,omitempty"`
		Person string `json:"person,omitempty"`
	}
	raw []byte // of a POST
	bad error
}

// decode reads the body of a verb that asks for more than request.body holds.
func (r *request) decode(into any) error {
	if err := json.Unmarshal(r.raw, into); err != nil {
		return &badRequest{"the request's body cannot be understood"}
	}
	return nil
}

func (r *request) text(name string) string { return r.r.URL.Query().Get(name) }

// number reads a query value between 0 and most. Nonsense is remembered in bad.
func (r *request) number(name string, absent, most int64) int64 {
	s := r.text(name)
	if s == "" {
		return absent
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		r.bad = &badRequest{name + " wants a number, 0 or more"}
		return absent
	}
	return min(n, most)
}

func (r *request) limit() int { return int(max(1, r.number("limit", defaultPage, maxPage))) }

// pageSize is that of a list of conversations, as sessions.Query has it: what
// is out of bounds counts as the nearest that is not.
func (r *request) pageSize() int {
	s := r.text("limit")
	if s == "" {
		return sessions.DefaultPage
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		r.bad = &badRequest{fmt.Sprintf("limit wants a number, 1 to %d", sessions.MaxPage)}
	}
	return max(n, 1)
}

// place is where a list goes on, nil where it begins.
func (r *request) place() *sessions.Cursor {
	s := r.text("after")
	if s == "" {
		return nil
	}
	p, err := sessions.ParseCursor(s)
	if err != nil {
		r.bad = &badRequest{"after wants the cursor of the last conversation on the previous page"}
	}
	return &p
}

func key(s string) (channels.Key, error) {
	k, err := channels.ParseKey(s)
	if err != nil {
		return k, &badRequest{"this is not a conversation's key; write it like telegram:123456"}
	}
	return k, nil
}

// keyed is a verb about the conversation that the request names.
func keyed(v func(ctx context.Context, k channels.Key, r *request) (any, error)) verb {
	return func(ctx context.Context, r *request) (any, error) {
		name := r.body.Key
		if r.r.Method == http.MethodGet {
			name = r.text("key")
		}
		k, err := key(name)
		if err != nil {
			return nil, err
		}
		return v(ctx, k, r)
	}
}

// done is the answer of verbs that have nothing to say.
type done struct{}
