package llm_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/internal/llm"
)

// A failure is shown for a day, because that model may never be asked again.
// Errors that say nothing about the server do not count.
func TestTroubleOfOthersIsForgotten(t *testing.T) {
	busy := &agent.ModelError{Kind: agent.ErrorTemporary, Status: 503, Err: errors.New("wire: complete: busy")}
	long := &agent.ModelError{Kind: agent.ErrorContext, Err: errors.New("too long")}
	for name, test := range map[string]struct {
		after   time.Duration
		results []error
		want    int // failures in a row
	}{
		"soon":                  {time.Minute, []error{busy, busy}, 2},
		"within a day":          {24*time.Hour - 1, []error{busy}, 1},
		"after a day":           {24 * time.Hour, []error{busy, busy}, 0},
		"succeeded since":       {time.Minute, []error{busy, nil}, 0},
		"cancelled, too long":   {time.Minute, []error{busy, errors.New("cancelled"), long}, 1},
		"not the model's fault": {time.Minute, []error{long}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got := llm.TroublesAfter(test.after, "small", test.results...)
				if test.want == 0 && len(got) > 0 || test.want > 0 && (len(got) != 1 || got[0].InARow != test.want) {
					t.Fatalf("OtherTroubles = %+v, want %d in a row", got, test.want)
				}
				if test.want > 0 && (got[0].Model != "small" || got[0].Why != "HTTP 503: busy" || !got[0].At.Equal(began)) {
					t.Errorf("OtherTroubles = %+v, want small with time and cause", got[0])
				}
			})
		})
	}
}
