package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kind is how the sender of a webhook shows that it may.
type Kind string

// The kinds.
const (
	Bearer   Kind = "bearer"   // Authorization: Bearer SECRET
	Basic    Kind = "basic"    // Authorization: Basic, with USER:PASSWORD as the secret
	GitHub   Kind = "github"   // X-Hub-Signature-256 over the body
	Standard Kind = "standard" // Standard Webhooks 1.0; the secret is whsec_…
)

// MaxAge is how far the time of a message of [Standard] may be from ours.
const MaxAge = 5 * time.Minute

// The errors of [Checker.Check]. They are for the log of whoever has the secret.
var (
	ErrNoSecret  = errors.New("it shows no secret and no signature")
	ErrWrong     = errors.New("its secret or signature is wrong")
	ErrTooOld    = errors.New("its time is more than five minutes from ours")
	ErrUnknown   = errors.New("there is no such hook")
	errNoSecrets = errors.New("webhook: there is no secret")
)

// Checker finds out whether a message is from whoever knows one of the secrets. The zero
// value lets nothing in.
type Checker struct {
	kind    Kind
	keys    []Key    // of Standard
	secrets [][]byte // of the other kinds
}

// NewChecker makes a checker. Two secrets are good while one is changed.
func NewChecker(kind Kind, secrets ...string) (Checker, error) {
	c := Checker{kind: kind}
	for _, s := range secrets {
		if kind != Standard {
			c.secrets = append(c.secrets, []byte(s))
			continue
		}
		k, err := ParseKey(s)
		if err != nil {
			return Checker{}, err
		}
		c.keys = append(c.keys, k)
	}
	if len(secrets) == 0 {
		return Checker{}, errNoSecrets
	}
	return c, nil
}

// String hides the secrets from logs.
func (c Checker) String() string { return string(c.kind) + " <secret>" }

// GoString hides the secrets from %#v.
func (c Checker) GoString() string { return c.String() }

// Check returns nil if a message with this header and body, received now, is from whoever
// knows a secret. It compares in constant time, and looks at the age of a message only if
// it is. Errors: ErrNoSecret, ErrWrong, ErrTooOld, ErrUnknown from the zero value.
func (c Checker) Check(header http.Header, body []byte, now time.Time) error {
	switch c.kind {
	case Standard:
		return c.checkStandard(header, body, now)
	case GitHub:
		given, found := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
		if !found {
			return ErrNoSecret
		}
		sum, err := hex.DecodeString(given)
		if err != nil {
			return ErrWrong
		}
		return c.compare(func(secret []byte) bool {
			mac := hmac.New(sha256.New, secret)
			_, _ = mac.Write(body)
			return hmac.Equal(mac.Sum(nil), sum)
		})
	case Bearer:
		scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return ErrNoSecret
		}
		return c.compare(func(secret []byte) bool { return same(secret, []byte(strings.TrimSpace(token))) })
	case Basic:
		r := http.Request{Header: header}
		user, password, found := r.BasicAuth()
		if !found {
			return ErrNoSecret
		}
		return c.compare(func(secret []byte) bool { return same(secret, []byte(user+":"+password)) })
	}
	return ErrUnknown
}

// compare asks about each secret, also after one was right.
func (c Checker) compare(right func(secret []byte) bool) error {
	err := ErrWrong
	for _, secret := range c.secrets {
		if right(secret) {
			err = nil
		}
	}
	return err
}

// same compares in a time that says nothing of the length either.
func same(a, b []byte) bool {
	x := sha256.Sum256(a)
	y := sha256.Sum256(b)
	return hmac.Equal(x[:], y[:])
}

func (c Checker) checkStandard(header http.Header, body []byte, now time.Time) error {
	id := header.Get(IDHeader)
	timestamp := header.Get(TimestampHeader)
	signature := header.Get(SignatureHeader)
	if id == "" || timestamp == "" || signature == "" {
		return ErrNoSecret
	}
	if !Verify(c.keys, id, timestamp, signature, body) {
		return ErrWrong
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > MaxAge {
		return ErrTooOld
	}
	return nil
}

// Delivery is the id by which the sender names a message and its repeats; "" if it names
// none. Only that of [Standard] is signed.
func (c Checker) Delivery(header http.Header) string {
	if c.kind == GitHub {
		return header.Get("X-GitHub-Delivery")
	}
	return header.Get(IDHeader)
}
