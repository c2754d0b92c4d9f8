package testkit_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/testkit"
)

func TestPoll(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration // when it comes true
		want  bool
	}{
		{"at once", 0, true},
		{"soon", 3 * time.Second, true},
		{"at the last moment", time.Minute, true},
		{"too late", time.Minute + time.Millisecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				done := func() bool { return time.Since(began) >= test.after }
				if got := testkit.Poll(time.Minute, done); got != test.want {
					t.Errorf("Poll = %v, want %v", got, test.want)
				}
				if took := time.Since(began); took > min(test.after+5*time.Millisecond, time.Minute) {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

func TestEventually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, returned := &recorder{}, false
		eventually := func(done bool) {
			testkit.Eventually(r, "the rain", func() bool { return done })
			returned = true
		}
		eventually(true)
		if *r != (recorder{}) {
			t.Errorf("it came: %+v", *r)
		}
		returned = false
		go eventually(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !strings.Contains(r.failed, "in vain for the rain") || returned {
			t.Errorf("it did not come: %+v, returned = %v, want that it says so and ends the test", *r, returned)
		}
	})
}
