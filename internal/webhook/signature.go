// Package webhook signs and verifies messages between servers as Standard Webhooks 1.0 says:
// by HMAC-SHA256 of "id.timestamp.body", with a secret that both ends know.
//
// The promise: a signature is compared in constant time, and a [Key] is shown in no log.
// The package knows nothing of ours and starts no goroutines.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks 1.0.
const (
	IDHeader        = "webhook-id"
	TimestampHeader = "webhook-timestamp" // seconds
	SignatureHeader = "webhook-signature"
)

const (
	keyPrefix  = "whsec_"
	signPrefix = "v1,"
	// minKey and maxKey bound a key, in bytes.
	minKey, maxKey = 24, 64
)

// ErrKey: a text is no signing secret.
var ErrKey = errors.New("a signing secret is whsec_ and base64 of 24 to 64 bytes")

// Key signs webhooks. It is never shown.
type Key struct{ secret []byte }

// ParseKey reads a signing secret like whsec_…. Its error, [ErrKey], does not show it.
func ParseKey(text string) (Key, error) {
	encoded, found := strings.CutPrefix(text, keyPrefix)
	if !found {
		return Key{}, ErrKey
	}
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		secret, err = base64.RawStdEncoding.DecodeString(encoded)
	}
	if err != nil || len(secret) < minKey || len(secret) > maxKey {
		return Key{}, ErrKey
	}
	return Key{secret}, nil
}

// String hides the key from logs.
func (Key) String() string { return "<secret>" }

// GoString hides the key from %#v.
func (Key) GoString() string { return "<secret>" }

// sum is the signature of a message by one key.
func (k Key) sum(id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, k.secret)
	_, _ = mac.Write([]byte(id + "." + timestamp + "."))
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// Sign is the webhook-signature of a message: one signature for each key, with spaces
// between them.
func Sign(keys []Key, id string, at time.Time, body []byte) string {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	var all []string
	for _, k := range keys {
		all = append(all, signPrefix+base64.StdEncoding.EncodeToString(k.sum(id, timestamp, body)))
	}
	return strings.Join(all, " ")
}

// Verify reports whether one of the signatures in header is that of the message by one of
// the keys. timestamp is the header as it was sent: whoever calls Verify checks its age.
// It compares in constant time.
func Verify(keys []Key, id, timestamp, header string, body []byte) bool {
	good := false
	for _, k := range keys {
		want := k.sum(id, timestamp, body)
		for one := range strings.FieldsSeq(header) {
			encoded, found := strings.CutPrefix(one, signPrefix)
			given, err := base64.StdEncoding.DecodeString(encoded)
			if found && err == nil && hmac.Equal(given, want) {
				good = true
			}
		}
	}
	return good
}
