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

// scramSHA256 is the mechanism that does not show the server the password.
const scramSHA256 = "SCRAM-SHA-256"

// Bounds for the work that a server may ask for: fewer rounds protect nothing, more
// would block the connection for seconds.
const (
	minScramRounds = 4096
	maxScramRounds = 1_000_000
)

// scram is one SCRAM-SHA-256 login (RFC 7677), without channel binding.
type scram struct {
	user, password, nonce string
	step                  int
	serverSignature       []byte
}

// next answers one message of the server. After the server's last message the answer
// is empty, and the server has proved that it knows the password too.
func (c *scram) next(message string) (answer string, err error) {
	c.step++
	switch c.step {
	case 1:
		return "n,," + c.clientFirstBare(), nil
	case 2:
		return c.proof(message)
	}
	signature, _ := strings.CutPrefix(message, "v=")
	got, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(c.serverSignature) == 0 || subtle.ConstantTimeCompare(got, c.serverSignature) != 1 {
		return "", errors.New("the server does not know the password")
	}
	return "", nil
}

func (c *scram) clientFirstBare() string {
	return "n=" + strings.NewReplacer("=", "=3D", ",", "=2C").Replace(c.user) + ",r=" + c.nonce
}

func (c *scram) proof(challenge string) (string, error) {
	fields := map[string]string{}
	for part := range strings.SplitSeq(challenge, ",") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	salt, err := base64.StdEncoding.DecodeString(fields["s"])
	rounds, atoiErr := strconv.Atoi(fields["i"])
	nonce := fields["r"]
	if err != nil || atoiErr != nil || len(salt) == 0 || rounds < minScramRounds || rounds > maxScramRounds ||
		!strings.HasPrefix(nonce, c.nonce) || len(nonce) == len(c.nonce) {
		return "", errors.New("the server's challenge is not valid")
	}
	salted, err := pbkdf2.Key(sha256.New, c.password, salt, rounds, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive the key: %w", err)
	}
	final := "c=biws,r=" + nonce
	message := c.clientFirstBare() + "," + challenge + "," + final
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
