package irc

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// scramSHA256 is the mechanism by which the server learns no password.
const scramSHA256 = "SCRAM-SHA-256"

// How much work a server may ask for: fewer rounds protect nothing, and more
// would hold the connection for seconds.
const (
	scramLeast = 4096
	scramMost  = 1_000_000
)

// scram is one login by SCRAM-SHA-256 (RFC 7677), without channel binding.
type scram struct {
	user, password, nonce string
	step                  int
	serverSignature       []byte
}

// next answers what the server said. After the last of its messages the answer
// is empty and the server has proved that it knows the password, too.
func (c *scram) next(said string) (answer string, err error) {
	c.step++
	switch c.step {
	case 1:
		return "n,," + c.firstBare(), nil
	case 2:
		return c.proof(said)
	}
	signature, _ := strings.CutPrefix(said, "v=")
	got, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(c.serverSignature) == 0 || subtle.ConstantTimeCompare(got, c.serverSignature) != 1 {
		return "", errors.New("the server does not know the password")
	}
	return "", nil
}

func (c *scram) firstBare() string {
	return "n=" + strings.NewReplacer("=", "=3D", ",", "=2C").Replace(c.user) + ",r=" + c.nonce
}

func (c *scram) proof(said string) (string, error) {
	fields := map[string]string{}
	for part := range strings.SplitSeq(said, ",") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	salt, err := base64.StdEncoding.DecodeString(fields["s"])
	rounds, atoiErr := strconv.Atoi(fields["i"])
	nonce := fields["r"]
	if err != nil || atoiErr != nil || len(salt) == 0 || rounds < scramLeast || rounds > scramMost ||
		!strings.HasPrefix(nonce, c.nonce) || len(nonce) == len(c.nonce) {
		return "", errors.New("the server's challenge is not valid")
	}
	salted, err := pbkdf2.Key(sha256.New, c.password, salt, rounds, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive the key: %w", err)
	}
	final := "c=biws,r=" + nonce
	message := c.firstBare() + "," + said + "," + final
	clientKey := mac(salted, "Client Key")
	stored := sha256.Sum256(clientKey)
	proof := mac(stored[:], message)
	subtle.XORBytes(proof, proof, clientKey)
	c.serverSignature = mac(mac(salted, "Server Key"), message)
	return final + ",p=" + base64.StdEncoding.EncodeToString(proof), nil
}

func mac(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}
