package webpage_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/webpage"
)

// What a child reads is what would be read here.
func TestServe(t *testing.T) {
	for name, test := range map[string]struct {
		kind, body string
		most       int // bytes of its text that arrive; 0: all
	}{
		"a page":       {"text/html", "<title>T\n</title><p>One.</p>\n<p><a href='b'>two</a></p>", 0},
		"a text":       {"text/plain", "one\n\ntwo", 0},
		"a picture":    {"image/png", "\x89PNG", 0},
		"nothing":      {"text/html", "", 0},
		"a long text":  {"text/plain", strings.Repeat("ü", 3<<20), webpage.MostText},
		"an odd start": {"text/plain", strings.Repeat("ü", 3<<20) + "a", webpage.MostText},
	} {
		base, err := url.Parse("https://example.org/a/")
		if err != nil {
			t.Fatal(err)
		}
		in, err := webpage.Ask(base, test.kind, []byte(test.body))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = webpage.Serve(in, &out)
		if err != nil {
			t.Fatal(err)
		}
		if out.Len() > webpage.MostServed {
			t.Errorf("%s: %d bytes are written", name, out.Len())
		}
		got, err := webpage.Served(out.Bytes())
		want := webpage.Read(base, test.kind, []byte(test.body))
		if test.most > 0 {
			want.Text = want.Text[:test.most]
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%.500s", name, err, diff)
		}
	}
}
