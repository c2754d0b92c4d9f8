package channels

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxFileName leaves room for an extension below the 255 bytes that common
// file systems allow.
const maxFileName = 200

// FileName returns a name for files about k, without an extension. Different
// keys have different names, even if the file system ignores case, and simple
// keys stay readable: "telegram:123456" becomes "telegram_123456".
//
// The first colon becomes "_"; every byte that is not a-z, 0-9, "+", "-", "@"
// or "." becomes "%" and two hex digits. A name that would be too long ends in
// "~" and a hash of the key, so the file must also contain the key.
//
// Attachment folders have these names. The documents of the file store are named
// differently (sessions/file, names.go): people read those names, so they keep
// more characters and are shorter. Both kinds are on disks, so merging them would
// mean renaming files.
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
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', strings.IndexByte("+-@.", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(b, "%%%02x", c)
		}
	}
}
