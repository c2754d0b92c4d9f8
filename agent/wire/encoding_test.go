package wire_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/wire"
)

// packed is text as a writer that open opens compresses it.
func packed[W io.WriteCloser](t *testing.T, text string, open func(io.Writer) W) []byte {
	t.Helper()
	var b bytes.Buffer
	w := open(&b)
	_, err := io.WriteString(w, text)
	err = errors.Join(err, w.Close())
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An answer that is compressed though nobody asked for that is read if it can be, whatever
// its header says, and not beyond the limit; else the error says what to turn off.
func TestCompressedAnswers(t *testing.T) {
	const stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Paris\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	const refusal = `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`
	zip := func(text string) []byte { return packed(t, text, gzip.NewWriter) }
	zlibbed := packed(t, stream, zlib.NewWriter)
	raw := packed(t, stream, func(w io.Writer) *flate.Writer { f, _ := flate.NewWriter(w, 9); return f })
	for name, test := range map[string]struct {
		status   int
		encoding string
		body     []byte
		want     string // "": the answer; else words of the error
		cause    agent.Cause
	}{
		"as it should be":           {200, "", []byte(stream), "", ""},
		"gzip":                      {200, "gzip", zip(stream), "", ""},
		"x-gzip":                    {200, "X-Gzip", zip(stream), "", ""},
		"gzip without a header":     {200, "", zip(stream), "", ""},
		"gzip called identity":      {200, "identity", zip(stream), "", ""},
		"plain called gzip":         {200, "gzip", []byte(stream), "", ""},
		"deflate":                   {200, "deflate", zlibbed, "", ""},
		"deflate without its frame": {200, "deflate", raw, "", ""},
		"plain called deflate":      {200, "deflate", []byte(stream), "", ""},
		"brotli":                    {200, "br", []byte{0x8b, 0x02, 0x80}, `compressed ("br"), which Dragoman did not ask for`, ""},
		"zstd":                      {200, "zstd", []byte{0x28, 0xb5, 0x2f, 0xfd}, `compressed ("zstd")`, ""},
		"two":                       {200, "gzip, br", zip(stream), `compressed ("gzip, br")`, ""},
		"cut":                       {200, "gzip", zip(stream)[:40], "the stream ended before", ""},
		"damaged":                   {200, "gzip", append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}, "nothing of the kind"...), "flate", ""},
		"a bomb":                    {200, "gzip", zip("data: \"" + strings.Repeat("a", 4<<20) + "\"\n\n"), "larger than 1048576 bytes", ""},
		"a refusal":                 {401, "gzip", zip(refusal), "Incorrect API key", agent.CauseKey},
		"a refusal, not said":       {401, "", zip(refusal), "Incorrect API key", agent.CauseKey},
		"a refusal in brotli":       {401, "br", []byte{0x8b, 0x02, 0x80}, `compressed ("br")`, agent.CauseKey},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{"Content-Type": {"text/event-stream"}}
			if test.encoding != "" {
				header.Set("Content-Encoding", test.encoding)
			}
			answer, err := talk(t, &transport{status: test.status, header: header, body: bytes.NewReader(test.body)}, wire.Options{MaxResponseBytes: 1 << 20})
			if test.want == "" {
				if err != nil || answer != "Paris" {
					t.Errorf("Complete = %q, %v, want Paris", answer, err)
				}
				return
			}
			var me *agent.ModelError
			if err == nil || !errors.As(err, &me) || me.Cause != test.cause || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Complete = %q, %v, want an error with %q", answer, err, test.want)
			}
		})
	}
}
