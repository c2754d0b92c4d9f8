package window_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/agent/window"
	"dragoman/sessions"
)

func FuzzStampIn(f *testing.F) {
	f.Add("[Sun 2026-03-01 13:00 +01:00]\nhello", int64(1772366400))
	f.Add("[Tue", int64(0))
	f.Add("", int64(1<<33))
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		at := time.Unix(unix%(1<<36), 0)
		if year := at.Year(); year < 1 || year > 9999 {
			return // no message has such a time
		}
		zone := time.FixedZone("", int(unix%(14*4))*15*60)
		said := window.Stamped([]sessions.Message{{Role: sessions.RoleUser, Content: text, At: at}}, zone, nil)[0].Content
		stamp := strings.TrimSuffix(said, text)
		if n, partly := window.StampIn(said); len(stamp) != window.StampBytes || n != len(stamp) || partly {
			t.Errorf("StampIn(%q) = %d, %t", said, n, partly)
		}
		for n := range stamp {
			if _, partly := window.StampIn(stamp[:n]); !partly {
				t.Errorf("StampIn(%q) is sure that there is none", stamp[:n])
			}
		}
		if n, _ := window.StampIn(text); n > len(text) || n > 0 && text[0] != '[' {
			t.Errorf("StampIn(%q) = %d", text, n)
		}
	})
}

func TestUnstamped(t *testing.T) {
	const stamp = "[Sun 2026-03-01 13:00 +01:00]\n"
	for text, want := range map[string]string{
		stamp + "a":                      "a",
		stamp + "a\n\n" + stamp + "b\nc": "a\n\nb\nc",
		"note\n\n" + stamp + "b":         "note\n\nb",
		"[Sun] " + stamp + "b":           "[Sun] " + stamp + "b",
		"":                               "",
	} {
		if got := window.Unstamped(text); got != want {
			t.Errorf("Unstamped(%q) = %q, want %q", text, got, want)
		}
	}
}
