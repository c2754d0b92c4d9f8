package file

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"dragoman/channels"
)

const (
	// nameMost is the longest name without its ending. Every file system in
	// use takes 255 bytes; this leaves room for endings, and for the ones of
	// programs that encrypt names.
	nameMost = 140
	// cutMark stands between the beginning of a key and its hash. An escape
	// is never "%-".
	cutMark = "%-"
)

// fileName is the name, without an ending, of the files of k. Two keys never
// have one name, also where case or Unicode forms do not count: letters in
// upper case and all bytes beyond ASCII are escaped. Plain keys stay readable:
// telegram:123456 is telegram_123456.
//
// It is not [channels.Key.FileName], which has the same idea: a name here is
// read back (keyOf), ends early enough for the endings of damaged files, and
// shows "#", "=" and "_" as they are. Stores have these names on their disks.
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

// keyOf reads a name that fileName wrote, and says false for names that it did
// not write and for those that it had to cut: the document has their key.
func keyOf(name string) (channels.Key, bool) {
	channel, chat, ok := strings.Cut(name, "_")
	channel, fine := unescape(channel)
	chat, fine2 := unescape(chat)
	if !ok || !fine || !fine2 {
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

func unescape(s string) (string, bool) {
	var b strings.Builder
	for {
		plain, rest, escaped := strings.Cut(s, "%")
		b.WriteString(plain)
		if !escaped {
			return b.String(), true
		}
		if len(rest) < 2 {
			return "", false
		}
		c, err := hex.DecodeString(rest[:2])
		if err != nil {
			return "", false
		}
		b.Write(c)
		s = rest[2:]
	}
}
