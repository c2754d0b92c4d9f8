package sqlite_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// sameRest compares the two ways to read a rest.
func sameRest(t *testing.T, b []byte) (plain bool) {
	t.Helper()
	fast, slow, plain, err := sqlite.DecodeRest(b)
	if !plain {
		return false
	}
	if err != nil {
		t.Fatalf("%q is plain, and no JSON: %v", b, err)
	}
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(slow, fast, all); diff != "" {
		t.Fatalf("%q (-reflection +plain):\n%s", b, diff)
	}
	return true
}

func TestPlainRest(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 30, 0, 123456789, time.UTC)
	for name, tt := range map[string]struct {
		m     sessions.Message
		plain bool
	}{
		"a person":  {sessions.Message{Role: "user", Name: "Ännchen", Sender: "42", At: at, Turn: "telegram:42#7"}, true},
		"a model":   {sessions.Message{Role: "assistant", At: at, Model: "m", Usage: &sessions.Usage{Input: 1200, Output: 0, Cached: 7}}, true},
		"a price":   {sessions.Message{Role: "assistant", At: at, Usage: &sessions.Usage{Input: 1, Cost: 0.0125}}, true},
		"a fortune": {sessions.Message{Role: "assistant", At: at, Usage: &sessions.Usage{Input: 1, Cost: 17}}, true},
		"tiny":      {sessions.Message{Role: "assistant", At: at, Usage: &sessions.Usage{Input: 1, Cost: 1e-9}}, false},
		"an import": {sessions.Message{Role: "user", At: at, Summary: true}, false},
		"a result":  {sessions.Message{Role: "tool", Name: "time", ToolCallID: "call_0", Synthetic: true}, true},
		"nothing":   {sessions.Message{Role: "user"}, true},
		"quotes":    {sessions.Message{Role: "user", Name: `An "n" <b>`, At: at}, false},
		"backslash": {sessions.Message{Role: "user", Name: `a\b`, At: at}, false},
		"calls":     {sessions.Message{Role: "assistant", At: at, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "b", Arguments: "{}"}}}, false},
	} {
		b := sqlite.EncodeRest(tt.m)
		if got := sameRest(t, b); got != tt.plain {
			t.Errorf("%s: %s is plain: %v, want %v", name, b, got, tt.plain)
		}
		// Cut or changed, it is still read alike.
		for i := range b {
			sameRest(t, b[:i])
			sameRest(t, []byte(string(b[:i])+" "+string(b[i:])))
		}
	}
}

func FuzzPlainRest(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"name":"a","sender":"1","at":"2026-01-02T03:04:05.6Z","turn":"x#1"}`, `{"usage":{"input":1,"output":2}}`,
		`{"usage":{},"usage":{"cached":3}}`, `{"synthetic":true}`, `{"name":"a","name":"b"}`, `{"at":"0000-00-00T00:00:00Z"}`,
		`{"usage":{"input":01}}`, `{"usage":{"cost":0.10}}`, `{"usage":{"cost":1.}}`, `{"usage":{"cost":.5}}`, `{"usage":{"cost":1e9}}`, `{"usage":{"cost":99999999999999999}}`, `{"usage":{"input":99999999999999999999}}`, `{"Name":"x"}`, `{"name":"\u0041"}`, strings.Repeat("{", 9),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { sameRest(t, b) })
}
