package webhook_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/internal/webhook"
)

const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// The signature of a message is what openssl computes:
//
//	printf %s 'msg_1.1700000000.{"a":1}' | openssl dgst -sha256 -mac HMAC -macopt hexkey:… -binary | base64
func TestSignature(t *testing.T) {
	const want = "v1,1l34d9U9bSaAVQFy2uVdg3CHHT+o7pMzi59Vrub2gOE="
	key, err := webhook.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	k := []webhook.Key{key}
	body := []byte(`{"a":1}`)
	if got := webhook.Sign(k, "msg_1", time.Unix(1_700_000_000, 0), body); got != want {
		t.Errorf("Sign = %s, want %s", got, want)
	}
	for name, tt := range map[string]struct {
		id, at, header, body string
		good                 bool
	}{
		"right":            {"msg_1", "1700000000", want, string(body), true},
		"among others":     {"msg_1", "1700000000", "v1a,xx v1,AAAA " + want, string(body), true},
		"another id":       {"msg_2", "1700000000", want, string(body), false},
		"another time":     {"msg_1", "1700000001", want, string(body), false},
		"another body":     {"msg_1", "1700000000", want, `{"a":2}`, false},
		"another version":  {"msg_1", "1700000000", "v2" + want[2:], string(body), false},
		"none":             {"msg_1", "1700000000", "", string(body), false},
		"cut":              {"msg_1", "1700000000", want[:20], string(body), false},
		"nothing but a v1": {"msg_1", "1700000000", "v1,", string(body), false},
	} {
		if got := webhook.Verify(k, tt.id, tt.at, tt.header, []byte(tt.body)); got != tt.good {
			t.Errorf("Verify of %s = %v, want %v", name, got, tt.good)
		}
	}
	for _, bad := range []string{"", "whsec_", "whsec_c2hvcnQ=", "c2hvcnQ=", "whsec_!" + secret[7:], "whsec_" + strings.Repeat("QUFB", 22)} {
		if _, err := webhook.ParseKey(bad); !errors.Is(err, webhook.ErrKey) {
			t.Errorf("ParseKey(%q) = %v, want ErrKey", bad, err)
		}
	}
}

// A key is not shown, however it is printed.
func TestKeyIsHidden(t *testing.T) {
	key, err := webhook.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%+v", key), fmt.Sprintf("%#v", key), fmt.Sprintf("%v", []webhook.Key{key})} {
		if strings.Contains(text, "0123") || strings.Contains(text, "48 49") || !strings.Contains(text, "<secret>") {
			t.Errorf("a key is printed as %s", text)
		}
	}
}
