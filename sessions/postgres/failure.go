package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// classes are the errors that stay what they are on the way from one node to
// another, by what they are called there.
var classes = map[string]error{
	"not found": sessions.ErrNotFound, "conflict": sessions.ErrConflict, "fenced": sessions.ErrFenced, "full": sessions.ErrFull,
	"too many": sessions.ErrTooMany, "no peer": sessions.ErrNoPeer,
	"permanent": channels.ErrPermanent, "removed": channels.ErrRemoved,
	"deadline": context.DeadlineExceeded, "canceled": context.Canceled,
}

// failed is an error of another node.
type failed struct {
	Text    string         `json:"text"`
	Classes []string       `json:"classes,omitempty"`
	Retry   *time.Duration `json:"retry,omitempty"` // of a channels.Retry
	NotSent bool           `json:"not_sent,omitempty"`
}

// failureOf is err for the wire.
func failureOf(err error) []byte {
	f := failed{Text: err.Error()}
	f.Text = f.Text[:min(len(f.Text), partMost/2)]
	for name, class := range classes {
		if errors.Is(err, class) {
			f.Classes = append(f.Classes, name)
		}
	}
	if retry := (*channels.Retry)(nil); errors.As(err, &retry) {
		f.Retry = &retry.After
	}
	f.NotSent = errors.As(err, new(*channels.NotSent))
	return []byte(encode(f))
}

// failure is what came over the wire.
func failure(data []byte) error {
	f := &failed{}
	if err := json.Unmarshal(data, f); err != nil {
		return errors.New("another node's error cannot be read")
	}
	return f
}

func (f *failed) Error() string { return f.Text }

// Unwrap returns the classes.
func (f *failed) Unwrap() (list []error) {
	for _, name := range f.Classes {
		if class := classes[name]; class != nil {
			list = append(list, class)
		}
	}
	text := errors.New(f.Text)
	if f.Retry != nil {
		list = append(list, &channels.Retry{After: *f.Retry, Err: text})
	}
	if f.NotSent {
		list = append(list, &channels.NotSent{Err: text})
	}
	return list
}
