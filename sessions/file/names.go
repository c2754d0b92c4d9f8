package file

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"dragoman/channels"
)

const (
	// nameMost is the longest name without its ending. Every file system in
	// use takes 255 bytes. The rest is room for endings, and for programs that
	// encrypt names.
	nameMost = 140
	// cutMark separates the beginning of a long key from its hash. An escape
	// is never "%-".
	cutMark = "%-"
)

// fileName is the name, without an ending, of the files of k. Two keys never
// share a name, even if the file system ignores case or Unicode forms: upper-case
// letters and all bytes beyond ASCII are escaped. Plain keys stay readable:
// telegram:123456 is telegram_123456.
//
// [channels.Key.FileName] has the same idea, but existing stores have these names on
// their disks: they can be read back (keyOf), leave room for the endings of damaged
// files, and do not escape "#", "=" and "_".
func fileName(k channels.Key) string {
	// The channel ends at the first "_".
	name := escape(k.Channel(), false) + "_" + escape(k.Chat(), true)
	if len(name) <= nameMost {
		return name
	}
	sum := sha256.Sum256([]byte(k.String()))
	hash := cutMark + hex.EncodeToString(sum[:16])
	cut := nameMost - len(hash)
	// Not in the middle of an escape.
	if i := strings.LastIndexByte(name[:cut], '%'); i > cut-3 {
		cut = i
	}
	return name[:cut] + hash
}

// keyOf returns the key whose fileName is name. It reports false for names that
// fileName did not write, and for those that it cut: the document has their key.
func keyOf(name string) (channels.Key, bool) {
	channel, chat, ok := strings.Cut(name, "_")
	channel, err := url.PathUnescape(channel)
	chat, err2 := url.PathUnescape(chat)
	if !ok || err != nil || err2 != nil {
		return channels.Key{}, false
	}
	k, err := channels.NewKey(channel, chat)
	return k, err == nil && fileName(k) == name
}

const hexDigits = "0123456789abcdef"

func escape(s string, underscore bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-.+@#=", c) >= 0 || c == '_' && underscore {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	return b.String()
}
