package channels_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"dragoman/channels"
)

func TestErrorsKeepTheirCause(t *testing.T) {
	for name, err := range map[string]error{
		"retry":    &channels.Retry{After: time.Second, Err: io.ErrUnexpectedEOF},
		"not sent": &channels.NotSent{Err: io.ErrUnexpectedEOF},
	} {
		wrapped := fmt.Errorf("telegram: send: %w", err)
		if !errors.Is(wrapped, io.ErrUnexpectedEOF) {
			t.Errorf("%s: errors.Is lost the cause of %v", name, wrapped)
		}
		if errors.Is(wrapped, channels.ErrPermanent) {
			t.Errorf("%s: counts as permanent", name)
		}
	}
	var retry *channels.Retry
	if !errors.As(fmt.Errorf("x: %w", &channels.Retry{After: time.Minute}), &retry) || retry.After != time.Minute {
		t.Errorf("errors.As found %+v, want a wait of a minute", retry)
	}
	if got, want := (&channels.Retry{After: time.Second}).Error(), "retry after 1s"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}
