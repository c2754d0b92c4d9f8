package tokens_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// TestVocabularies compares the embedded files with tiktoken-go's maps, and with
// UPDATE=1 makes them from those.
func TestVocabularies(t *testing.T) {
	for path, c := range map[string]*codec.Codec{"o200k_base.gz": codec.NewO200kBase(), "cl100k_base.gz": codec.NewCl100kBase()} {
		var want bytes.Buffer
		for rank := uint(0); ; rank++ {
			token, err := c.Decode([]uint{rank})
			if err != nil {
				break // the ranks have no gap, so this one is after the last
			}
			want.WriteByte(byte(len(token)))
			want.WriteString(token)
		}
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(path, packed(t, want.Bytes()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what tiktoken-go has: run UPDATE=1 go test -run Vocabularies ./agent/tokens", path)
		}
	}
}

func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzCountAsTiktoken: both encodings count what tiktoken-go counts.
func FuzzCountAsTiktoken(f *testing.F) {
	for _, s := range []string{
		"I'll say it's DON'T'S 'Re we'Ve 'x '", "Straße ǅungla ʰaʰ e\u0301 \u0301\u03015 \u0301AB5", "１２3４5 ½ⅷ ٣٤٥٦",
		" \t\n\r\n  \r x  y\u00a0\u3000z \u2028 end  ", "\n \n00", "a//b/\n/c ...\r\n// ?!  ?!", "世界こんにちは 안녕하세요 สวัสดี नमस्ते", "camelCaseHTTPServer XMLHttp ABCs",
		"🎉👩‍👩‍👧 \x00\x07 \v\f\u0085", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	} {
		f.Add(s)
	}
	wanted := map[string]*codec.Codec{"o200k_base": codec.NewO200kBase(), "cl100k_base": codec.NewCl100kBase()}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4<<10 || !utf8.ValidString(s) {
			return // longer ones are cut, and nothing else is sent to a model
		}
		s = strings.ReplaceAll(s, "\x7f", "") // a token, which tiktoken-go's expression skips
		for name, whole := range wanted {
			want, err := whole.Count(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := open(t, name).Count(s); got != want {
				t.Errorf("%s: Count(%q) = %d, want %d", name, s, got, want)
			}
		}
	})
}
