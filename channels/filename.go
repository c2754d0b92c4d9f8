package channels

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxFileName leaves room for an extension below the 255 bytes that common
// file systems allow.
const maxFileName = 200

// FileName is a name for files about k, without an extension. Different keys
// have different names, also where the file system ignores case, and simple
// keys stay readable: "telegram:123456" is "telegram_123456".
//
// The first colon becomes "_"; every byte that is not a-z, 0-9, "+", "-", "@"
// or "." becomes "%" and two hex digits. Names that would be too long end in
// "~" and a hash of the key, so the key must also stand inside the file.
func (k Key) FileName() string {
	var b strings.Builder
	escape(&b, k.channel)
	b.WriteByte('_')
	escape(&b, k.chat)
	name := b.String()
	if len(name) <= maxFileName {
		return name
	}
	sum := sha256.Sum256([]byte(k.String()))
	return name[:maxFileName-33] + "~" + hex.EncodeToString(sum[:16])
}

func escape(b *strings.Builder, s string) {
	const digits = "0123456789abcdef"
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', strings.IndexByte("+-@.", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
}

// ParseFileName is the key that has this [Key.FileName]; false if none has, or
// if the name is one of those that end in a hash.
func ParseFileName(name string) (Key, bool) {
	channel, chat, found := strings.Cut(name, "_")
	if !found {
		return Key{}, false
	}
	k, err := NewKey(unescape(channel), unescape(chat))
	return k, err == nil && k.FileName() == name
}

// unescape undoes escape. What escape does not write comes out as anything.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
