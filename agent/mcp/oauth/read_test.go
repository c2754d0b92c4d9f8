package oauth_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/agent/mcp/oauth"
)

func TestGranted(t *testing.T) {
	for text, life := range map[string]time.Duration{
		`{"access_token":"a","token_type":"bearer","expires_in":60}`:      time.Minute,
		`{"access_token":"a","token_type":"Bearer","expires_in":"60"}`:    time.Minute,
		`{"access_token":"a","token_type":"Bearer","expires_in":1e300}`:   366 * 24 * time.Hour,
		`{"access_token":"a","token_type":"Bearer","expires_in":-1}`:      0,
		`{"access_token":"a","token_type":"Bearer","expires_in":[]}`:      0,
		`{"access_token":"a","token_type":"Bearer","refresh_token":null}`: 0,
	} {
		if access, _, got, err := oauth.Granted(200, text); access != "a" || got != life || err != nil {
			t.Errorf("%s = %q, %s, %v, want %s", text, access, got, err, life)
		}
	}
	for text, want := range map[string]string{
		`{"error":"invalid_grant"}`: "refused: invalid_grant",
		`{"error":"my token x"}`:    "refused: status 400",
		`{"error":{"code":1}}`:      "refused: status 400",
		`<html>`:                    "refused: status 400",
		`{"error":"slow_down"}`:     "cannot answer now",
	} {
		if _, _, _, err := oauth.Granted(400, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, want %q", text, err, want)
		}
	}
}

// Whatever is granted can be sent in a header, and no error has a word of the answer.
func FuzzGranted(f *testing.F) {
	f.Add(200, `{"access_token":"secret-word","token_type":"Bearer","expires_in":1}`)
	f.Add(400, `{"error":"secret-word"}`)
	f.Fuzz(func(t *testing.T, status int, text string) {
		access, refresh, life, err := oauth.Granted(status, text)
		if err != nil && strings.Contains(err.Error(), "secret-word") {
			t.Errorf("the error is %v", err)
		}
		if strings.ContainsAny(access+refresh, "\r\n\x00 ") || life < 0 || err == nil && access == "" {
			t.Errorf("granted are %q and %q for %s, %v", access, refresh, life, err)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add("http://127.0.0.1/callback?code=a&state=b#x")
	f.Fuzz(func(t *testing.T, address string) {
		code, state, err := oauth.Answer(address)
		if err == nil && (state == "" || len(code) > len(address)) {
			t.Errorf("%q has the code %q and the state %q", address, code, state)
		}
	})
}
