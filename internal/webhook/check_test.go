package webhook_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/internal/webhook"
)

// The signature of GitHub's own example: a payload and its secret.
//
//	printf %s 'Hello, World!' | openssl dgst -sha256 -hmac "It's a Secret to Everybody"
func TestGitHubsExample(t *testing.T) {
	c, err := webhook.NewChecker(webhook.GitHub, "It's a Secret to Everybody")
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	header.Set("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
	if err := c.Check(header, []byte("Hello, World!"), time.Now()); err != nil {
		t.Errorf("Check = %v, want nil", err)
	}
	if err := c.Check(header, []byte("Hello, World?"), time.Now()); !errors.Is(err, webhook.ErrWrong) {
		t.Errorf("Check of another body = %v, want ErrWrong", err)
	}
	header.Set("X-Hub-Signature-256", "sha256=nothing")
	if err := c.Check(header, []byte("Hello, World!"), time.Now()); !errors.Is(err, webhook.ErrWrong) {
		t.Errorf("Check of no signature = %v, want ErrWrong", err)
	}
}

// Messages of five minutes around now are young enough.
func TestAge(t *testing.T) {
	key, err := webhook.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	c, err := webhook.NewChecker(webhook.Standard, secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	for off, want := range map[time.Duration]error{
		0: nil, -299 * time.Second: nil, 299 * time.Second: nil, -301 * time.Second: webhook.ErrTooOld, 301 * time.Second: webhook.ErrTooOld,
	} {
		at := now.Add(off)
		header := http.Header{}
		header.Set("webhook-id", "a")
		header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		header.Set("webhook-signature", webhook.Sign([]webhook.Key{key}, "a", at, []byte("x")))
		if err := c.Check(header, []byte("x"), now); !errors.Is(err, want) {
			t.Errorf("Check of a message of %s = %v, want %v", off, err, want)
		}
	}
}

// A checker without a secret lets nobody in, and one with a secret does not show it.
func TestChecker(t *testing.T) {
	for _, kind := range []webhook.Kind{webhook.Bearer, webhook.Basic, webhook.GitHub, webhook.Standard} {
		if _, err := webhook.NewChecker(kind); err == nil {
			t.Errorf("a %s checker was made without a secret", kind)
		}
	}
	if _, err := webhook.NewChecker(webhook.Standard, "no key"); !errors.Is(err, webhook.ErrKey) {
		t.Errorf("NewChecker = %v, want ErrKey", err)
	}
	header := http.Header{"Authorization": {"Bearer "}}
	if err := (webhook.Checker{}).Check(header, nil, time.Now()); !errors.Is(err, webhook.ErrUnknown) {
		t.Errorf("the zero checker says %v, want ErrUnknown", err)
	}
	c, err := webhook.NewChecker(webhook.Bearer, "canary-canary")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(header, nil, time.Now()); !errors.Is(err, webhook.ErrWrong) {
		t.Errorf("an empty token: %v, want ErrWrong", err)
	}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, "canary") {
		t.Errorf("a checker is printed as %s", text)
	}
}
