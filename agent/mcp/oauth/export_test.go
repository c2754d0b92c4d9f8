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
