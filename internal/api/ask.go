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
)

// Asker puts a question into a conversation and waits for the answer. If the id was
// asked before, it only waits. An error that the caller is to read is a [Refusal].
type Asker func(ctx context.Context, k channels.Key, id, text string) (string, error)

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
	// Wait is how long to wait for the answer, like "5m".
	Wait string `json:"wait,omitempty"`
}

const (
	// defaultWait is how long Ask waits for an answer by default.
	defaultWait = 5 * time.Minute
	maxWait     = time.Hour
	// maxQuestion bounds a request. The gateway bounds the text itself.
	maxQuestion = 32 << 20
)

var askID = lazily.Compile(`^[A-Za-z0-9_-]{1,64}$`)

// Ask answers POST {"key", "text", "id", "wait"} with an [Asked].
func Ask(ask Asker) http.Handler {
	return http.MaxBytesHandler(answering(func(ctx context.Context, q Question) (a Asked, err error) {
		if ask == nil {
			return a, ErrNoDaemon
		}
		if err := requireKey(q.Key); err != nil {
			return a, err
		}
		q.ID = cmp.Or(q.ID, rand.Text())
		if !askID.Regexp().MatchString(q.ID) {
			return a, &Refusal{Sentence: "an id has 1 to 64 letters, digits, _ or -"}
		}
		wait := defaultWait
		if q.Wait != "" {
			if wait, err = time.ParseDuration(q.Wait); err != nil || wait <= 0 || wait > maxWait {
				return a, &Refusal{Sentence: fmt.Sprintf("wait is a duration like 30s, at most %s", maxWait)}
			}
		}
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		answer, err := ask(ctx, q.Key, q.ID, q.Text)
		if ctx.Err() != nil {
			return a, fmt.Errorf("no answer within %s; the question is still waiting: ask again with the id %s to keep waiting: %w", wait, q.ID, context.DeadlineExceeded)
		}
		return Asked{Key: q.Key, ID: q.ID, Answer: answer}, err
	}), maxQuestion)
}
