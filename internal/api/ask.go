package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/internal/people"
	"dragoman/internal/respond"
)

// Asker puts a question into a conversation and waits for the answer. If the id was
// asked before, it only waits. An error that the caller is to read is a
// [respond.Refusal].
type Asker func(ctx context.Context, q Question) (string, error)

// Asked is a question and its answer.
type Asked struct {
	Key    channels.Key `json:"key"`
	ID     string       `json:"id"`
	Answer string       `json:"answer"`
}

// Question is a request for an answer. Without an id it gets one.
type Question struct {
	Key  channels.Key `json:"key"`
	ID   string       `json:"id,omitempty"`
	Text string       `json:"text"`
	// Model is the model that answers this question alone; "": the conversation's.
	Model string `json:"model,omitempty"`
	// Wait is how long to wait for the answer, like "5m".
	Wait string `json:"wait,omitempty"`
}

const (
	// defaultWait is how long Ask waits for an answer by default.
	defaultWait = 5 * time.Minute
	maxWait     = time.Hour
)

var askID = lazily.Compile(`^[A-Za-z0-9_-]{1,64}$`)

func (s *server) ask(ctx context.Context, q Question) (Asked, error) {
	if !q.Key.IsZero() {
		sight, err := s.read(ctx, q.Key) // the answer may repeat what was said there
		if err != nil {
			return Asked{}, err
		}
		if !sight.Own && !caller(ctx).May(people.Operate) {
			return Asked{}, &respond.Refusal{
				Status: http.StatusForbidden, Code: respond.CodeScope,
				Sentence: "This needs the scope " + string(people.Operate) + ", because the conversation is not yours.",
			}
		}
	}
	return putQuestion(ctx, s.Ask, q)
}

// putQuestion asks and waits.
func putQuestion(ctx context.Context, ask Asker, q Question) (Asked, error) {
	if ask == nil {
		return Asked{}, ErrNoDaemon
	}
	if q.Key.IsZero() {
		return Asked{}, refuse("key", "name a conversation by its key, like telegram:123456")
	}
	q.ID = cmp.Or(q.ID, rand.Text())
	if !askID.Regexp().MatchString(q.ID) {
		return Asked{}, refuse("id", "an id has 1 to 64 letters, digits, _ or -")
	}
	wait := defaultWait
	if q.Wait != "" {
		var err error
		wait, err = time.ParseDuration(q.Wait)
		if err != nil || wait <= 0 || wait > maxWait {
			return Asked{}, refuse("wait", "wait is a duration like 30s, at most %s", maxWait)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	answer, err := ask(ctx, q)
	if ctx.Err() != nil {
		return Asked{}, fmt.Errorf("no answer within %s; the question is still waiting: ask again with the id %s to keep waiting: %w", wait, q.ID, context.DeadlineExceeded)
	}
	return Asked{Key: q.Key, ID: q.ID, Answer: answer}, err
}
