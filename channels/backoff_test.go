package channels_test

import (
	"testing"
	"time"

	"dragoman/channels"
)

// The pauses double up to a minute, and each is drawn anew from its upper half.
func TestBackoff(t *testing.T) {
	for _, failed := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 62, 63, 64, 1000} {
		most := time.Minute
		if failed <= 8 { // the ninth would be 102.4 seconds
			most = 200 * time.Millisecond << failed
		}
		low, high := false, false
		for range 300 {
			b := channels.Backoff{Failed: failed}
			got := b.Next()
			if got < most/2 || got > most {
				t.Fatalf("after %d failures: %s, want %s to %s", failed, got, most/2, most)
			}
			low, high = low || got < most*5/8, high || got > most*7/8
		}
		if !low || !high {
			t.Errorf("after %d failures: 300 pauses without one below %s or above %s, want jitter", failed, most*5/8, most*7/8)
		}
	}
}
