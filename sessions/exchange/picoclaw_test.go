package exchange_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

const opaque = "sk_v1_c050a6347411a7a9d411eaada6018ef6"

// What PicoClaw keeps beside a conversation with an opaque key says which chat it is.
func TestOpaqueKeys(t *testing.T) {
	for name, test := range map[string]struct{ meta, want, note string }{
		"a private chat":        {`"scope":{"channel":"telegram","account":"default","values":{"chat":"direct:7001"}}`, "telegram:7001", ""},
		"a topic in the chat":   {`"scope":{"channel":"telegram","values":{"chat":"group:-1007001/5"}}`, "telegram:-1007001:5", ""},
		"a topic beside it":     {`"scope":{"channel":"telegram","values":{"chat":"group:-1007001","topic":"topic:5"}}`, "telegram:-1007001:5", ""},
		"a phone":               {`"scope":{"channel":"whatsapp","values":{"chat":"direct:15550001001"}}`, "whatsapp:+15550001001", ""},
		"a group of a phone's":  {`"scope":{"channel":"whatsapp","values":{"chat":"group:1234@g.us"}}`, "whatsapp:1234@g.us", ""},
		"a second account":      {`"scope":{"channel":"telegram","account":"work","values":{"chat":"direct:7001"}}`, "telegram:7001", `its account on telegram was "work"`},
		"a name, in small ones": {`"scope":{"channel":"irc","values":{"chat":"group:#moss"}}`, "irc:#moss", "in small letters"},
		"an alias":              {`"aliases":["agent:main:main","agent:main:telegram:direct:7001"]`, "telegram:7001", ""},
		"with an account":       {`"aliases":["agent:main:telegram:home:direct:7001"]`, "telegram:7001", ""},
		"an alias of a topic":   {`"scope":{"version":1},"aliases":["agent:main:telegram:group:-1007001/5"]`, "telegram:-1007001:5", ""},
		"nothing but the agent": {`"scope":{"agent_id":"main"},"aliases":["agent:main:main"]`, "", ""},
		"a scope of no form":    {`"scope":"direct:7001"`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), opaque+".jsonl")
			layFile(t, path, `{"role":"user","content":"hello","created_at":"2026-03-01T11:00:01+01:00"}`+"\n"+`{"role":"assistant","content":"hi"}`+"\n")
			layFile(t, strings.TrimSuffix(path, ".jsonl")+".meta.json", `{"key":"`+opaque+`","summary":"They met.","skip":1,"count":2,`+test.meta+`}`)
			head, notes, err := headOf(t, path)
			switch {
			case test.want == "":
				if !errors.Is(err, exchange.ErrNoKey) || !strings.Contains(err.Error(), "names no chat") {
					t.Errorf("the reason is %v, want that it names no chat", err)
				}
			case err != nil || head.Key.String() != test.want || len(head.Summaries) != 1 || head.Summaries[0].CoversSeq != 1:
				t.Errorf("it became %+v (%v), want %s with a summary of the first message", head, err, test.want)
			case !strings.Contains(strings.Join(notes, "; "), test.note) || test.note == "" && len(notes) > 0:
				t.Errorf("the notes are %q, want %q", notes, test.note)
			}
		})
	}
	path := filepath.Join(t.TempDir(), opaque+".jsonl")
	layFile(t, path, `{"role":"user","content":"hello"}`+"\n")
	if _, _, err := headOf(t, path); !errors.Is(err, exchange.ErrNoKey) {
		t.Errorf("without a .meta.json: %v, want ErrNoKey", err)
	}
}

// A session of nanobot's comes with its title and its times; what is no message is left
// out and counted.
func TestNanobot(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, "sessions", "0123")
	session := func(key string) string {
		return `{"_type":"metadata","key":"` + key + `","created_at":"2026-03-01T11:00:00","metadata":{"title":"Boats"},"last_consolidated":0}` + "\n" +
			`{"_type":"provider_state","state":{"opaque":"x"}}` + "\n" +
			`{"role":"user","content":"My boat is called Moss.","timestamp":"2026-03-01T11:00:01","sender_id":"7001"}` + "\n" +
			`{"role":"assistant","content":"A fine name.","timestamp":"2026-03-01T11:00:02.500"}` + "\n" +
			`{"role":"user","content":"/status","timestamp":"2026-03-01T11:00:05","_command":true}` + "\n"
	}
	for name, test := range map[string]struct{ key, config, want, at string }{
		"in its zone":       {"telegram:7001", `{"agents":{"defaults":{"timezone":"Europe/Rome","timezoneMode":"manual"}}}`, "telegram:7001", "2026-03-01T10:00:01Z"},
		"in another":        {"telegram:7001", `{"agents":{"defaults":{"timezone":"America/Lima"}}}`, "telegram:7001", "2026-03-01T16:00:01Z"},
		"the machine's":     {"telegram:7001", `{"agents":{"defaults":{"timezone":"Europe/Rome","timezoneMode":"auto"}}}`, "telegram:7001", ""},
		"without a config":  {"telegram:7001", "", "telegram:7001", ""},
		"no zone at all":    {"telegram:7001", `{"agents":{"defaults":{"timezone":"Moss/Fern"}}}`, "telegram:7001", ""},
		"a topic":           {"telegram:-1007001:topic:5", "{}", "telegram:-1007001:5", ""},
		"a page":            {"websocket:abc", "{}", "websocket:abc", ""},
		"its own heartbeat": {"heartbeat", "{}", "", ""},
		"its own jobs":      {"cron:morning", "{}", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder, "a.jsonl")
			layFile(t, path, session(test.key))
			_ = os.Remove(filepath.Join(home, "config.json"))
			if test.config != "" {
				layFile(t, filepath.Join(home, "config.json"), test.config)
			}
			if test.want == "" {
				if _, _, err := headOf(t, path); !errors.Is(err, exchange.ErrNobody) {
					t.Errorf("the reason is %v, want ErrNobody", err)
				}
				return
			}
			want := time.Date(2026, 3, 1, 11, 0, 1, 0, time.Local).UTC()
			if test.at != "" {
				want = at(test.at)
			}
			c, notes := one(t, path, exchange.Options{})
			if c.Key.String() != test.want || c.Title != "Boats" || len(c.messages) != 2 || !c.messages[0].At.Equal(want) || !c.Created.Equal(want.Add(-time.Second)) {
				t.Errorf("it became %s %q of %s with %d messages, the first at %s, want %s at %s", c.Key, c.Title, c.Created, len(c.messages), c.messages[0].At, test.want, want)
			}
			same(t, "the sender", c.messages[0].Sender, "7001")
			same(t, "the notes", notes, []string{"commands and their answers were left out: 1", "lines of the type provider_state were left out: 1"})
		})
	}
}

// layFile writes a file and the folders above it.
func layFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// headOf imports the file at path and returns its conversation.
func headOf(t *testing.T, path string) (head sessions.ConversationRecord, notes []string, err error) {
	t.Helper()
	r, err := exchange.Open(t.Context(), path, exchange.Options{})
	if err != nil {
		return head, nil, err
	}
	defer r.Close()
	err = r.Each(func(rec sessions.Record) error {
		if rec.Conversation != nil {
			head = *rec.Conversation
		}
		return nil
	})
	return head, r.Notes(), err
}
