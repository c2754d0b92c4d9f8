package terminal

import "dragoman/channels"

// Type is what the configuration knows of the terminal.
var Type = channels.Type{Name: "cli", Settings: func() channels.Settings { return new(Settings) }}

// Settings are those of the terminal. It has none that other channels do not have.
type Settings struct{}

var _ channels.Local = (*Settings)(nil)

// Network is the terminal.
func (*Settings) Network() string { return "the terminal" }

// Everybody is whoever can open the daemon's socket.
func (*Settings) Everybody(bool) string { return "everybody who can run dragoman chat on this machine" }

// Identities are none: the terminal's people have no names.
func (*Settings) Identities() []channels.Identity { return nil }

// Check finds nothing.
func (*Settings) Check(channels.Report) {}
