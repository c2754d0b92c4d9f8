package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/internal/config"

	"gopkg.in/yaml.v3"
)

func TestSecretHides(t *testing.T) {
	const canary = "canary-4711"
	s := config.NewSecret(canary)
	type holder struct {
		S config.Secret
		s config.Secret // methods of unexported fields are not called
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
	if s.Reveal() != canary || config.NewSecret("").String() != "" || !config.NewSecret("").IsZero() {
		t.Error("Reveal, String or Empty is wrong")
	}
}

func TestDurationAndSize(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m",
	} {
		if got := config.Duration(d).String(); got != want {
			t.Errorf("Duration(%d) = %s, want %s", d, got, want)
		}
	}
	for s, want := range map[config.Size]string{0: "0", 1: "1", 1024: "1KiB", 256 << 10: "256KiB", 3 << 20: "3MiB", 1025: "1025"} {
		if got := s.String(); got != want {
			t.Errorf("Size(%d) = %s, want %s", int64(s), got, want)
		}
	}
}

func TestSizesInMB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	for text, want := range map[string]config.Size{"1MB": 1e6, "2 kB": 2e3, "1MiB": 1 << 20} {
		write(t, path, "queue: {max_message_bytes: "+text+"}\n")
		c, _, err := config.Load(options(t, path))
		if err != nil || c.Queue.MaxMessageBytes != want {
			t.Errorf("%s = %v, %v, want %d bytes", text, c, err, want)
		}
	}
}
