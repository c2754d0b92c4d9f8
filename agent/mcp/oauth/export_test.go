package oauth

import "time"

// Granted is what an answer of a token endpoint gives.
func Granted(status int, text string) (access, refresh string, life time.Duration, err error) {
	got, err := readGrant(status, []byte(text))
	if err != nil {
		return "", "", 0, err
	}
	return got.access, got.refresh, got.life, nil
}

// Answer is the code and the state in an address.
func Answer(address string) (code, state string, err error) {
	q, err := readAnswer(address)
	return q.Get("code"), q.Get("state"), err
}
