package tokens_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"

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
