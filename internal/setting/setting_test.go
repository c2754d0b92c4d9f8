package setting_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dragoman/internal/setting"

	"gopkg.in/yaml.v3"
)

func TestSecretHides(t *testing.T) {
	const canary = "canary-4711"
	s := setting.NewSecret(canary)
	type holder struct {
		S setting.Secret
		s setting.Secret // methods of unexported fields are not called
	}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%10s", "%p"} {
		fmt.Fprintf(&out, verb+verb+verb+"\n", s, &s, holder{s, s})
	}
	j, err := json.Marshal(holder{s, s})
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(holder{s, s})
	if err != nil {
		t.Fatal(err)
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "s", s, "h", holder{s, s})
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "s", s, "h", holder{s, s}, "p", &holder{s, s})
	fmt.Fprint(&out, string(j), string(y), fmt.Errorf("x: %w", fmt.Errorf("%v", s)))
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("%d", []byte(canary))} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%s is shown in\n%s", form, out.String())
		}
	}
	if s.Reveal() != canary || setting.NewSecret("").String() != "" || !setting.NewSecret("").IsZero() {
		t.Error("Reveal, String or Empty is wrong")
	}
	for name, test := range map[string]struct {
		s     setting.Secret
		isSet bool
	}{
		"one that is there": {s, true},
		"an absent one":     {setting.AbsentSecret(), true},
		"none":              {setting.NewSecret(""), false},
	} {
		if test.s.IsSet() != test.isSet {
			t.Errorf("%s: IsSet = %v, want %v", name, !test.isSet, test.isSet)
		}
	}
}

func TestDurationAndSize(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m",
	} {
		if got := setting.Duration(d).String(); got != want {
			t.Errorf("Duration(%d) = %s, want %s", d, got, want)
		}
	}
	for s, want := range map[setting.Size]string{0: "0", 1: "1", 1024: "1KiB", 256 << 10: "256KiB", 3 << 20: "3MiB", 1025: "1025"} {
		if got := s.String(); got != want {
			t.Errorf("Size(%d) = %s, want %s", int64(s), got, want)
		}
	}
}

func TestForms(t *testing.T) {
	colour := setting.Like(`^(red|green)$`, "%s is no colour", "write red or green")
	if what, want := colour("blue"); what != "%s is no colour" || want != "write red or green" {
		t.Errorf("blue: %q, %q, want what the form says", what, want)
	}
	if what, want := colour("red"); what != "" || want != "" {
		t.Errorf("red: %q, %q, want nothing", what, want)
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"irc.example.org:6697": "irc.example.org 6697 true false",
		"localhost:80":         "localhost 80 true true",
		"127.8.0.1:80":         "127.8.0.1 80 true true",
		"[::1]:80":             "::1 80 true true",
		":80":                  " 80 true false",
		"h:70000":              "h 65535 false false",
		"h:irc":                "h 0 false false",
		"h":                    " 0 false false",
	} {
		host, port, ok := setting.HostPort(address)
		if got := fmt.Sprint(host, " ", port, " ", ok, " ", setting.Loopback(host)); got != want {
			t.Errorf("%s = %s, want %s", address, got, want)
		}
	}
}
