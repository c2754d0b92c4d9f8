package channels_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
)

// TestCase39ParseKey: what cannot name a conversation is refused cleanly, and
// the rest stays what it is.
func TestCase39ParseKey(t *testing.T) {
	tests := []struct {
		name, in      string
		channel, chat string
		ok            bool
	}{
		{"telegram", "telegram:123456", "telegram", "123456", true},
		{"topic", "telegram:-100200:7", "telegram", "-100200:7", true},
		{"phone", "whatsapp:+1234567890", "whatsapp", "+1234567890", true},
		{"irc channel", "libera:#go", "libera", "#go", true},
		{"unicode chat", "irc:#été", "irc", "#été", true},
		{"dots", "irc:../../etc/x", "irc", "../../etc/x", true},
		{"empty", "", "", "", false},
		{"up and in again", "x:a/../../b", "x", "a/../../b", true},
		{"a dot", "x:.", "x", ".", true},
		{"a device", "x:CON", "x", "CON", true},
		{"CR and LF", "x:a\r\nb", "", "", false},
		{"a dot alone", ".", "", "", false},
		{"a path alone", "../../etc/x", "", "", false},
		{"no colon", "telegram", "", "", false},
		{"no chat", "telegram:", "", "", false},
		{"no channel", ":1", "", "", false},
		{"upper case channel", "IRC:#a", "", "", false},
		{"NUL", "irc:a\x00b", "", "", false},
		{"newline", "irc:a\nb", "", "", false},
		{"not UTF-8", "irc:a\xff", "", "", false},
		{"4 KB", "irc:" + strings.Repeat("x", 4096), "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k, err := channels.ParseKey(tt.in)
			if (err == nil) != tt.ok {
				t.Fatalf("ParseKey(%q) error = %v, want ok = %v", tt.in, err, tt.ok)
			}
			if err != nil {
				if !errors.Is(err, channels.ErrKey) {
					t.Errorf("ParseKey(%q) error = %v, want one that wraps ErrKey", tt.in, err)
				}
				return
			}
			if k.Channel() != tt.channel || k.Chat() != tt.chat || k.String() != tt.in {
				t.Errorf("ParseKey(%q) = %q, %q, %q", tt.in, k.Channel(), k.Chat(), k)
			}
		})
	}
}

func TestKeyInJSON(t *testing.T) {
	in := map[channels.Key]channels.Key{channels.MustKey("irc:#go"): channels.MustKey("cli:direct")}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"irc:#go":"cli:direct"}`; string(b) != want {
		t.Errorf("Marshal = %s, want %s", b, want)
	}
	var out map[channels.Key]channels.Key
	if err := json.Unmarshal(b, &out); err != nil || out[channels.MustKey("irc:#go")] != channels.MustKey("cli:direct") {
		t.Errorf("Unmarshal = %v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"a":"nonsense"}`), &map[string]channels.Key{"a": {}}); err == nil {
		t.Error("Unmarshal of a key without a colon succeeded")
	}
}

func TestFileNameIsReadableForSimpleKeys(t *testing.T) {
	for in, want := range map[string]string{
		"telegram:123456":      "telegram_123456",
		"cli:direct":           "cli_direct",
		"whatsapp:+1234567890": "whatsapp_+1234567890",
		"irc:#Go":              "irc_%23%47o",
	} {
		if got := channels.MustKey(in).FileName(); got != want {
			t.Errorf("FileName(%s) = %q, want %q", in, got, want)
		}
	}
}

// Keys that other gateways put into one file.
func TestCase38FileNamesDoNotCollide(t *testing.T) {
	long := strings.Repeat("é", 100)
	seen := map[string]string{}
	for _, s := range []string{
		"telegram:1_2", "telegram_1:2", "irc:#a", "irc:##a", "irc:#A", "x:1", "x:/1", "x:_1", "x:%5f1",
		"irc:" + long + "a", "irc:" + long + "b", "x:..", "x:CON", "x:con",
	} {
		name := strings.ToLower(channels.MustKey(s).FileName())
		if other, dup := seen[name]; dup {
			t.Errorf("%q and %q share the file name %q", s, other, name)
		}
		seen[name] = s
	}
}

func FuzzKey(f *testing.F) {
	for _, s := range []string{"telegram:1", "irc:#a\x00", "x:", ":", "a:b:c", "irc:../../x", "irc:é", "web:%2f"} {
		f.Add(s, "irc:b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		ka, err := channels.ParseKey(a)
		if err != nil {
			return
		}
		if ka.String() != a {
			t.Fatalf("ParseKey(%q).String() = %q", a, ka)
		}
		name := ka.FileName()
		if len(name) > 200 || name != filepath.Base(name) || strings.ContainsAny(name, `/\:*?"<>|`+"\x00") || strings.HasPrefix(name, ".") {
			t.Fatalf("FileName(%q) = %q is not a plain file name", a, name)
		}
		if kb, err := channels.ParseKey(b); err == nil && ka != kb && strings.EqualFold(name, kb.FileName()) {
			t.Fatalf("%q and %q share the file name %q", a, b, name)
		}
	})
}
