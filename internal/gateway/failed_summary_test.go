package gateway_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// busy is an error that passes by itself.
type busy struct{}

func (busy) Error() string                    { return "busy" }
func (busy) Temporary() (time.Duration, bool) { return 0, true }

// A summary that fails until somebody changes something is told to the operator, and no
// longer once one of that conversation succeeds.
func TestFailedSummaryIsKnown(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		told bool
	}{
		"cut off":            {fmt.Errorf("%w: it was cut off before its end, also with 16384 tokens: raise summary.max_tokens", recap.ErrBadSummary), true},
		"longer":             {recap.ErrLongSummary, true},
		"the model is gone":  {errors.New("no such model"), true},
		"a busy server":      {fmt.Errorf("ask: %w", busy{}), false},
		"a new conversation": {sessions.ErrConflict, false},
		"nothing to do":      {recap.ErrNothingToSummarize, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, ag := compacting(t, window.Presets["picoclaw"], 32768)
				ag.fail = test.err
				w.talk(8)
				w.say("1", "/compact")
				synctest.Wait()
				got, failed := w.gw.FailedSummary()
				if failed != test.told || failed && (!errors.Is(got.Why, test.err) || got.Others != 0 || !strings.HasSuffix(got.Key.String(), ":1")) {
					t.Fatalf("FailedSummary = %+v, %t, want %v: %t", got, failed, test.err, test.told)
				}
				ag.fail = nil
				time.Sleep(2 * time.Minute)
				w.say("1", "/compact")
				synctest.Wait()
				if got, failed := w.gw.FailedSummary(); failed {
					t.Errorf("after it was mended: FailedSummary = %+v", got)
				}
			})
		})
	}
}
