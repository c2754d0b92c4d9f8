package tokens_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

	"dragoman/agent/tokens"
	"dragoman/internal/testkit"
)

func open(t testing.TB, name string) *tokens.Counter {
	t.Helper()
	c, err := tokens.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCount compares the counts with those of the encodings' reference
// implementation.
func TestCount(t *testing.T) {
	for _, test := range []struct {
		text         string
		o200k, older int
	}{
		{"", 0, 0},
		{"hello world", 2, 2},
		{"tiktoken is great!", 6, 6},
		{"antidisestablishmentarianism", 6, 6},
		{"2 + 2 = 4", 7, 7},
	} {
		if got := open(t, "o200k_base").Count(test.text); got != test.o200k {
			t.Errorf("o200k_base: Count(%q) = %d, want %d", test.text, got, test.o200k)
		}
		if got := open(t, "cl100k_base").Count(test.text); got != test.older {
			t.Errorf("cl100k_base: Count(%q) = %d, want %d", test.text, got, test.older)
		}
	}
	if _, err := tokens.Open("o200k"); err == nil || !strings.Contains(err.Error(), "cl100k_base and o200k_base") {
		t.Errorf("Open(o200k) = %v, want an error that names the encodings", err)
	}
}

// TestCountOfPieces: a text that is counted in pieces has as many tokens as the codec
// finds in the whole, at every length around the borders.
func TestCountOfPieces(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < 13<<10; i++ {
		fmt.Fprintf(&b, "Entry %d: the harbour of Łódź was quiet at 0%d:%d, 世界 said \"café\"; then\n\tcome(%d) ", i, i%10, 10+i%50, i*i)
	}
	for name, whole := range map[string]*codec.Codec{"o200k_base": codec.NewO200kBase(), "cl100k_base": codec.NewCl100kBase()} {
		c := open(t, name)
		for _, length := range []int{4<<10 - 1, 4 << 10, 4<<10 + 1, 8<<10 + 1, 10_000, 13 << 10} {
			text := strings.ToValidUTF8(b.String()[:length], "")
			want, err := whole.Count(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Count(text); got != want {
				t.Errorf("%s: Count of %d bytes = %d, want %d", name, len(text), got, want)
			}
		}
	}
}

// TestCountIsBounded: long texts are counted in pieces and samples, at limited cost
// and with a small error.
func TestCountIsBounded(t *testing.T) {
	c := open(t, "o200k_base")
	line := "The harbour was quiet when the last ferry came in. "
	each := c.Count(strings.Repeat(line, 2)) - c.Count(line)
	for name, text := range map[string]struct {
		s    string
		want int
	}{
		"100 KB of prose": {strings.Repeat(line, 2000), 2000 * each},
		"12 MB of prose":  {strings.Repeat(line, 12<<20/len(line)), 12 << 20 / len(line) * each},
		"12 MB of Han":    {strings.Repeat("世界", 2<<20), 2 << 20},
		"12 MB of bytes":  {strings.Repeat("\xff\xfe", 6<<20), 0},
		"12 MB of a":      {strings.Repeat("a", 12<<20), 12 << 20 / 8},
	} {
		got := 0
		took := testkit.Within(5*time.Second, func() { got = c.Count(text.s) })
		t.Logf("%s: %d tokens in %v", name, got, took)
		if text.want > 0 && (got < text.want*97/100 || got > text.want*103/100) {
			t.Errorf("Count(%s) = %d, want %d within 3 %%", name, got, text.want)
		}
		if took > 5*time.Second { // a tenth of a second on an idle machine
			t.Errorf("Count(%s) took %v", name, took)
		}
		if again := c.Count(text.s); again != got {
			t.Errorf("Count(%s) = %d the second time, want %d", name, again, got)
		}
	}
}

func TestCountConcurrently(t *testing.T) {
	c := open(t, "cl100k_base")
	text := strings.Repeat("some words, ", 100)
	want := c.Count(text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := open(t, "cl100k_base").Count(text); got != want {
				t.Errorf("Count = %d, want %d", got, want)
			}
		})
	}
	wg.Wait()
}

// No text has more tokens than bytes, so the agent can skip counting where the bytes
// fit.
func FuzzCount(f *testing.F) {
	c := open(f, "o200k_base")
	f.Add("hello, World 123 世界 🎉\n\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got := c.Count(s); got < 0 || got > len(s) {
			t.Errorf("Count(%q) = %d", s, got)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	text := strings.Repeat("Some words, 世界 and 🎉 123456.\n", 1000)
	b.Run("new", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			open(b, "o200k_base").Count(text)
		}
	})
	b.Run("again", func(b *testing.B) {
		c := open(b, "o200k_base")
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			c.Count(text)
		}
	})
}
