package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// classes are the errors that keep their identity between nodes, by their name in a
// note.
var classes = map[string]error{
	"not found": sessions.ErrNotFound, "conflict": sessions.ErrConflict, "fenced": sessions.ErrFenced, "full": sessions.ErrFull,
	"too many": sessions.ErrTooMany, "no peer": sessions.ErrNoPeer,
	"permanent": channels.ErrPermanent, "removed": channels.ErrRemoved,
	"deadline": context.DeadlineExceeded, "canceled": context.Canceled,
}

// remoteError is an error of another node.
type remoteError struct {
	Text    string         `json:"text"`
	Classes []string       `json:"classes,omitempty"`
	Retry   *time.Duration `json:"retry,omitempty"` // of a channels.Retry
	NotSent bool           `json:"not_sent,omitempty"`
}

func encodeError(err error) []byte {
	f := remoteError{Text: err.Error()}
	f.Text = f.Text[:min(len(f.Text), maxPart/2)]
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

func decodeError(data []byte) error {
	f := &remoteError{}
	if err := json.Unmarshal(data, f); err != nil {
		return errors.New("another node's error cannot be read")
	}
	return f
}

func (f *remoteError) Error() string { return f.Text }

// Unwrap returns an error of each class.
func (f *remoteError) Unwrap() (list []error) {
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
