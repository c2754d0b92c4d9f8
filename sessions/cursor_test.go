package sessions_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

func FuzzParseCursor(f *testing.F) {
	for _, key := range []string{"telegram:1", "irc:#a b/c", "x:" + strings.Repeat("ü", 100)} {
		p := sessions.Conversation{Key: channels.MustKey(key), Updated: time.Unix(1_700_000_000, 123456789).UTC()}.Position()
		f.Add(p.String())
	}
	f.Add("")
	f.Add("eA")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := sessions.ParseCursor(s)
		if err != nil {
			return
		}
		again, err := sessions.ParseCursor(p.String())
		if err != nil || !again.Updated.Equal(p.Updated) || again.Key != p.Key {
			t.Errorf("ParseCursor(%q) = %+v, then %+v, %v", s, p, again, err)
		}
		if strings.ContainsAny(p.String(), " '\"#&?+%=") {
			t.Errorf("%q needs quotes", p)
		}
	})
}

func FuzzParseFoundCursor(f *testing.F) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	f.Add(sessions.Found{Key: channels.MustKey("irc:#a b/c"), Words: 2, Message: sessions.Message{Seq: 77, At: at}}.Position().String())
	f.Add("")
	f.Add("MSAyMDI2LTAzLTAxVDEyOjAwOjAwWiAxIHg6MQ")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := sessions.ParseFoundCursor(s)
		if err != nil {
			return
		}
		if again, err := sessions.ParseFoundCursor(p.String()); err != nil || again.Compare(p) != 0 {
			t.Errorf("ParseFoundCursor(%q) = %+v, then %+v, %v", s, p, again, err)
		}
		if strings.ContainsAny(p.String(), " '\"#&?+%=") {
			t.Errorf("%q needs quotes", p)
		}
	})
}
