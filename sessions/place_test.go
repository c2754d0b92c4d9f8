package sessions_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

func FuzzParsePlace(f *testing.F) {
	for _, key := range []string{"telegram:1", "irc:#a b/c", "x:" + strings.Repeat("ü", 100)} {
		p := sessions.Conversation{Key: channels.MustKey(key), Updated: time.Unix(1_700_000_000, 123456789).UTC()}.Place()
		f.Add(p.String())
	}
	f.Add("")
	f.Add("eA")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := sessions.ParsePlace(s)
		if err != nil {
			return
		}
		again, err := sessions.ParsePlace(p.String())
		if err != nil || !again.Updated.Equal(p.Updated) || again.Key != p.Key {
			t.Errorf("ParsePlace(%q) = %+v, and of that %+v, %v", s, p, again, err)
		}
		if strings.ContainsAny(p.String(), " '\"#&?+%=") {
			t.Errorf("%q needs quotes", p)
		}
	})
}
