package app_test

import (
	"errors"
	"testing"

	"dragoman/channels"
	"dragoman/internal/app"
)

// unmade is a type that has settings, and nothing that makes a channel of them.
type unmade struct{}

func (*unmade) Network() string                 { return "nowhere" }
func (*unmade) Identities() []channels.Identity { return nil }
func (*unmade) Check(channels.Report)           {}

// Settings of each type can be made into a channel. Here they lack what they need, so
// an error may say that.
func TestEveryTypeIsMade(t *testing.T) {
	for _, kind := range app.Types() {
		if err := app.Make(kind, t.TempDir()); errors.Is(err, app.ErrNotMade) {
			t.Errorf("type %s: %v", kind.Name, err)
		}
	}
	none := channels.Type{Name: "none", Settings: func() channels.Settings { return new(unmade) }}
	if err := app.Make(none, t.TempDir()); !errors.Is(err, app.ErrNotMade) {
		t.Errorf("a type that nothing makes: Make = %v, want %v", err, app.ErrNotMade)
	}
}
