package channels

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxChatIDBytes bounds the chat part of a [Key]. The longest identifiers
// seen on real networks (WhatsApp group ids, Matrix-like room ids) stay far
// below it.
const MaxChatIDBytes = 256

// ErrKey marks every error of [NewKey] and [ParseKey].
var ErrKey = errors.New("not a conversation key")

// IsName reports whether s can name a channel instance: see [NewKey]. It runs for every
// key, so it uses no regular expression.
func IsName(s string) bool {
	const most = 32
	return len(s) <= most && IsRoom(s)
}

// IsRoom reports whether s can name a room. Other programs name rooms after their own
// chats, whose ids are up to 64 characters long.
func IsRoom(s string) bool {
	const most, letters = 64, "abcdefghijklmnopqrstuvwxyz0123456789"
	return s != "" && len(s) <= most && strings.Trim(s, letters+"_-") == "" && strings.IndexAny(s, "_-") != 0
}

// Key names one conversation: the configured channel instance it happens on
// and the chat inside it, written "channel:chatID" ("telegram:123456",
// "telegram:-100200:7", "irc:#go", "cli:direct"). The channel ends at the
// first colon; the chat may contain more of them.
//
// Keys are comparable. Only [NewKey] and [ParseKey] make them, so a Key that is
// not zero is always valid.
type Key struct{ channel, chat string }

// NewKey makes the key of chat on the channel instance called channel. The
// instance is 1 to 32 characters of a-z, 0-9, "_" and "-"; the chat is 1 to
// [MaxChatIDBytes] bytes of UTF-8 without control characters. Errors wrap
// [ErrKey].
func NewKey(channel, chat string) (Key, error) {
	switch {
	case !IsName(channel):
		return Key{}, fmt.Errorf("channels: %w: %.60q is not a channel name (a-z, 0-9, _ and -, at most 32)", ErrKey, channel)
	case chat == "":
		return Key{}, fmt.Errorf("channels: %w: the chat is empty", ErrKey)
	case len(chat) > MaxChatIDBytes:
		return Key{}, fmt.Errorf("channels: %w: the chat has %d bytes, at most %d are allowed", ErrKey, len(chat), MaxChatIDBytes)
	case !utf8.ValidString(chat):
		return Key{}, fmt.Errorf("channels: %w: the chat is not UTF-8", ErrKey)
	case strings.IndexFunc(chat, unicode.IsControl) >= 0:
		return Key{}, fmt.Errorf("channels: %w: the chat %.60q has control characters", ErrKey, chat)
	}
	return Key{channel, chat}, nil
}

// ParseKey reads the form that [Key.String] writes.
func ParseKey(s string) (Key, error) {
	channel, chat, found := strings.Cut(s, ":")
	if !found {
		return Key{}, fmt.Errorf("channels: %w: %.60q has no colon (want channel:chat, like telegram:123456)", ErrKey, s)
	}
	return NewKey(channel, chat)
}

// MustKey is [ParseKey] for keys written in the source; it panics on others.
func MustKey(s string) Key {
	k, err := ParseKey(s)
	if err != nil {
		panic(err)
	}
	return k
}

// Channel is the name of the configured channel instance.
func (k Key) Channel() string { return k.channel }

// Chat is the chat's identifier on its network.
func (k Key) Chat() string { return k.chat }

// IsZero reports whether k is the zero Key.
func (k Key) IsZero() bool { return k == Key{} }

// String is "channel:chat", or "" for the zero key.
func (k Key) String() string {
	if k.IsZero() {
		return ""
	}
	return k.channel + ":" + k.chat
}

// MarshalText writes the form of [Key.String].
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the form of [Key.String]; empty text is the zero key.
func (k *Key) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*k = Key{}
		return nil
	}
	parsed, err := ParseKey(string(b))
	if err != nil {
		return err
	}
	*k = parsed
	return nil
}

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
// differently (sessions/file, files.go): people read those names, so they keep
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
