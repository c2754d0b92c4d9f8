package exchange_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"dragoman/channels"
	"dragoman/sessions/exchange"
)

func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		in, want string
		o        exchange.Options
	}{
		"empty":               {in: " \n\n", want: "the file is empty"},
		"text":                {in: "hello", want: "neither JSON"},
		"cut off":             {in: `{"key":"a:b","messages":[{"role":"user","content":"x"}`, want: "the file ends in the middle"},
		"cut off in a list":   {in: `[{"role":"user","content":"x"},`, want: "the file ends in the middle"},
		"no messages":         {in: `{"title":"x"}`, want: "has no messages"},
		"bad key":             {in: `{"key":"heartbeat","messages":[]}`, want: "no usable key"},
		"key with NUL":        {in: `{"key":"a:\u0000","messages":[]}`, want: "no usable key"},
		"key is a number":     {in: `{"key":7,"messages":[]}`, want: "the key is not text"},
		"no role":             {in: `{"key":"a:b","messages":[{"role":"user"},{"content":"x"}]}`, want: "message 2: unexpected content: a message without a role"},
		"other role":          {in: `{"key":"a:b","messages":[{"role":"narrator","content":"x"}]}`, want: `message 1 has the role "narrator"`},
		"content is a number": {in: `{"key":"a:b","messages":[{"role":"user","content":7}]}`, want: "neither text nor a list"},
		"numbers in a list":   {in: `[1,2]`, want: "list of objects"},
		"empty list":          {in: `[]`, want: "there is no conversation"},
		"damaged log":         {in: "{\"role\":\"user\",\"content\":\"x\"}\n{\"content\":\"y\"}\n", want: "read line 2"},
		"two, one key":        {in: `[{"messages":[]},{"messages":[]}]`, want: "more than one", o: exchange.Options{Key: channels.MustKey("a:b")}},
		"records, cut off":    {in: `{"conversation":{"key":"a:b"}}` + "\n" + `{"messages":{"key":"a:b","mess`, want: "read line 2"},
		"records, unknown":    {in: `{"conversation":{"key":"a:b"}}` + "\n" + `{"future":{}}`, want: "read line 2"},
		"records, two a line": {in: `{"conversation":{"key":"a:b"}}` + "\n" + `{"fact":{"scope":"x"},"job":{"job":"y"}}`, want: "it holds 2 records"},
		"records, run on":     {in: `{"conversation":{"key":"a:b"}}` + "\n" + `{"fact":{"scope":"x"}}{"fact":{"scope":"y"}}`, want: "something follows its record"},
		"records, no key":     {in: `{"conversation":{}}`, want: "no usable key"},
		"seqs out of order":   {in: `{"key":"a:b","messages":[{"role":"user","seq":2},{"role":"user","seq":2}],"generations":[{"id":"20260101_001","first_seq":1,"last_seq":2}]}`, want: "seq 2 after 2"},
		"a database":          {in: "SQLite format 3\x00...", want: "cannot be read from here"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := exchange.NewReader(strings.NewReader(tt.in), tt.o)
			if err == nil {
				_, err = readAll(r)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q in it", err, tt.want)
			}
			if err != nil && !errors.Is(err, exchange.ErrFormat) && !errors.Is(err, exchange.ErrNoKey) {
				t.Errorf("the error %v is neither ErrFormat nor ErrNoKey", err)
			}
		})
	}
}

// The notes about a badly damaged log are bounded.
func TestNotesAreBounded(t *testing.T) {
	log := `{"role":"user","content":"x"}` + "\n" + strings.Repeat("!\n", 5000)
	r, err := exchange.NewReader(strings.NewReader(log), exchange.Options{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(r); err != nil {
		t.Fatal(err)
	}
	notes := r.Notes()
	if len(notes) != 1001 || notes[1000] != "4000 more notes like these" {
		t.Errorf("%d notes, the last is %q", len(notes), notes[len(notes)-1])
	}
}

// Case 44 for imports: a line of 12 MB.
func TestCase44LongLine(t *testing.T) {
	long := strings.Repeat("x", 12<<20)
	in := `{"role":"user","content":"` + long + `"}` + "\n" + `{"role":"assistant","content":"short"}` + "\n"
	r, err := exchange.NewReader(strings.NewReader(in), exchange.Options{Name: "long"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAll(r)
	if err != nil || len(all) != 1 || len(all[0].messages) != 2 || all[0].messages[0].Content != long {
		t.Errorf("a message of 12 MB: %d conversations, %v", len(all), err)
	}
}

// Text that is not UTF-8 is refused, wherever it is, and never changed silently.
func TestNotUTF8(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"a document":      {`{"key":"a:b","messages":[{"role":"user","content":"Gr` + "\xfc" + `\u00dfe"}]}`, "read at byte 63: message 1: unexpected content: it is not UTF-8"},
		"our own lines":   {strings.Replace(everyRecord, `"title":"t"`, "\"title\":\"\xe4\"", 1), "it is not UTF-8"},
		"a log":           {`{"role":"user","content":"ok"}` + "\n{\"role\":\"user\",\"content\":\"\xe4\"}\n", "line 2"},
		"the end is torn": {`{"messages":[{"role":"user","content":"` + "\xe2\x82", "ends in the middle"},
		"half of a pair":  {`{"messages":[{"role":"user","content":"` + "\xed\xa0\x80" + `"}]}`, "it is not UTF-8"},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text))} {
			all, _, err := readRecords(r, exchange.Options{Name: "x"})
			if !errors.Is(err, exchange.ErrFormat) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %d records, %v, want %q", name, len(all), err, c.says)
			}
		}
	}
	good := `{"messages":[{"role":"user","content":"` + strings.Repeat("aß€😀", 20000) + `"}]}`
	for _, r := range []io.Reader{strings.NewReader(good), iotest.OneByteReader(strings.NewReader(good)), iotest.HalfReader(strings.NewReader(good))} {
		if all, _, err := readRecords(r, exchange.Options{Name: "x"}); err != nil || len(all) == 0 {
			t.Errorf("good text: %v", err)
		}
	}
}
