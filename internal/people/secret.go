package people

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strings"
)

// A token is "drg_", 26 random characters (130 bits) and a checksum of 7: 37
// in all. The prefix lets scanners of repositories and logs find one that was
// published (drg_[A-Z2-7]{33}). The checksum tells a typing error from a token
// that nobody has, without looking into the store.
const (
	secretPrefix = "drg_"
	secretSize   = len(secretPrefix) + 26 + sumSize
	sumSize      = 7 // of 32 bits, at 5 bits a character
	// beginningSize is how much of a token lists show: its prefix and 4 characters.
	beginningSize = 8
)

// newSecret returns a new token.
func newSecret() string {
	s := secretPrefix + rand.Text()
	return s + checksum(s)
}

// checksum is the last part of a token that begins with s.
func checksum(s string) string {
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(s)))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum)
}

// checkForm refuses what was never one of our tokens. Errors: ErrUnknownToken
// if it does not even look like one, ErrMistyped.
func checkForm(secret string) error {
	if !strings.HasPrefix(secret, secretPrefix) {
		return ErrUnknownToken
	}
	if len(secret) != secretSize {
		return ErrMistyped
	}
	body := secret[:secretSize-sumSize]
	if secret[len(body):] != checksum(body) {
		return ErrMistyped
	}
	return nil
}

// hashOf is what is stored of a secret. A plain hash is enough: nobody tries
// 2^130 of them.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
