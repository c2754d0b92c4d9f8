package file_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"dragoman/channels"
	"dragoman/sessions/file"
)

// Cases 38 and 39: plain keys are readable, and no two keys share a name.
func TestCase38Names(t *testing.T) {
	for k, want := range map[string]string{
		"telegram:123456":    "telegram_123456",
		"telegram:-100200:7": "telegram_-100200%3a7",
		"telegram:1_2":       "telegram_1_2",
		"telegram_1:2":       "telegram%5f1_2",
		"cli:direct":         "cli_direct",
		"irc:#go":            "irc_#go",
		"irc:Alice":          "irc_%41lice",
		"whatsapp:+123":      "whatsapp_+123",
		"x:../../etc/x":      "x_..%2f..%2fetc%2fx",
		"con:CON":            "con_%43%4f%4e",
		"x:a b.":             "x_a%20b.",
		"x:ä":                "x_%c3%a4",
	} {
		if got := file.FileName(key(k)); got != want {
			t.Errorf("FileName(%s) = %s, want %s", k, got, want)
		}
	}
	long := strings.Repeat("Ä", 128)
	one, two := file.FileName(key("x:"+long)), file.FileName(key("x:"+long[:254]+"Ö"))
	if one == two || len(one) > 140 || len(two) > 140 {
		t.Errorf("long names: %s and %s", one, two)
	}
	if _, ok := file.KeyOf(one); ok {
		t.Error("a name that was cut gives a key")
	}
}

// Case 38, on a disk that folds case: keys that differ only in it, or in what
// folds to the same letter, have names that still differ when folded.
func TestCase38NamesWhenCaseIsFolded(t *testing.T) {
	// Ä and ä, the long s and the Kelvin sign fold to others' forms; é has two.
	letters := []rune("aAbBkK\u212asS\u017f\u00e4\u00c4\u00e9\u0130i\u0131_%-.:/1")
	letters = append(letters, '\u0301')
	chat := rapid.Custom(func(t *rapid.T) string {
		some := string(rapid.SliceOfN(rapid.SampledFrom(letters), 1, 6).Draw(t, "letters"))
		return strings.Repeat(some, rapid.SampledFrom([]int{1, 1, 20}).Draw(t, "times"))
	})
	flip := func(t *rapid.T, s string) string {
		return strings.Map(func(r rune) rune {
			return rapid.SampledFrom([]rune{r, unicode.ToUpper(r), unicode.ToLower(r), unicode.SimpleFold(r)}).Draw(t, "case")
		}, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		one := chat.Draw(t, "one")
		two := flip(t, one)
		a, err := channels.NewKey("irc", one)
		b, err2 := channels.NewKey("irc", two)
		if err != nil || err2 != nil || a == b {
			t.Skip()
		}
		if x, y := file.FileName(a), file.FileName(b); strings.EqualFold(x, y) {
			t.Fatalf("%q and %q are %q and %q", a, b, x, y)
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"a", "A", "CON", "..", "a/b", "a\\b", "ä", "%41", "_", ".", " ", strings.Repeat("x", 256), strings.Repeat("Ä", 128)} {
		f.Add("x", s, "y_1", s+"1")
	}
	f.Fuzz(func(t *testing.T, channel, chat, channel2, chat2 string) {
		a, err := channels.NewKey(channel, chat)
		b, err2 := channels.NewKey(channel2, chat2)
		if err != nil || err2 != nil {
			t.Skip()
		}
		name, other := file.FileName(a), file.FileName(b)
		if (a == b) != strings.EqualFold(name, other) {
			t.Fatalf("%q and %q are %q and %q", a, b, name, other)
		}
		if len(name) > 140 || strings.ContainsAny(name, "/\\:*?\"<>| \x00") || strings.HasPrefix(name, ".") || name != strings.ToLower(name) || !ascii(name) {
			t.Fatalf("%q has the name %q", a, name)
		}
		if k, ok := file.KeyOf(name); ok && k != a || !ok && len(name) < 140-3 {
			t.Fatalf("KeyOf(%q) = %q, %v, want %q", name, k, ok, a)
		}
	})
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// Whatever stands in a file, reading it ends with a document or an error.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(`{"format":1,"key":"x:1","head":{"key":"x:1","seq":1},"messages":[],"lsn":1,"archive_bytes":0}`))
	f.Add([]byte("{\"message\":{\"seq\":1}}\n{\"inbox\":{}}\n"))
	f.Add([]byte(`00000000 2 {}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = file.ParseDocument(data)
		file.ParseArchive(data)
		_ = file.ParseLine(data)
	})
}
