package testkit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/testkit"
)

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		name string
		take []time.Duration
		want time.Duration
		runs int
	}{
		{"at once", []time.Duration{time.Second}, time.Second, 1},
		{"on the limit", []time.Duration{2 * time.Second}, 2 * time.Second, 1},
		{"held up once", []time.Duration{9 * time.Second, time.Second}, time.Second, 2},
		{"always slow", []time.Duration{9 * time.Second, 8 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second}, 4 * time.Second, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				got := testkit.Within(2*time.Second, func() {
					time.Sleep(test.take[runs]) // the bubble's clock
					runs++
				})
				if got != test.want || runs != test.runs {
					t.Errorf("Within = %s after %d runs, want %s after %d", got, runs, test.want, test.runs)
				}
			})
		})
	}
}
