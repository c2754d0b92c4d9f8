package mcp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent/mcp"
)

// A program that writes without an end is read slowly, and one that rests is read fast again.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spend := mcp.Pace()
		took := func(megabytes int) time.Duration {
			began := time.Now()
			for range megabytes << 2 {
				spend(256 << 10)
			}
			return time.Since(began).Round(time.Second)
		}
		if got := took(64); got != 0 {
			t.Errorf("the first 64 MB take %s, want no time", got)
		}
		if got := took(40); got != 10*time.Second {
			t.Errorf("40 MB more take %s, want 10 s", got)
		}
		time.Sleep(30 * time.Second)
		if got := took(64); got != 0 {
			t.Errorf("after a rest, 64 MB take %s, want no time", got)
		}
	})
}
