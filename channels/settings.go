package channels

import (
	"log/slog"
	"net/http"
	"net/url"
)

// Type is one type of channel. Its package declares it, with its settings, in a file
// config.go, and internal/app lists all types: nothing else has to know one by name.
type Type struct {
	// Name is the value of the setting "type", and the name of a channel that has no
	// other: 1 to 32 characters of a-z, 0-9, _ and -.
	Name string
	// Settings returns those of one channel, empty: a pointer to a new struct. Its fields
	// have tags, which internal/config lists, and from which it reads keys, defaults,
	// forms and documentation.
	Settings func() Settings
}

// Settings are those of one channel beyond the ones that all channels have. Each method
// is called when the defaults and the values of the file have been filled in, and reads
// nothing but the settings. Abilities that only some types have are the small
// interfaces below, found by type assertion.
type Settings interface {
	// Network is the network as people call it, {network} in prompts.
	Network() string
	// Identities are the forms of entries in the setting "allow", the first that fits
	// counts. Whatever fits none is refused. None at all: nobody can be named, and the
	// only entry is "*".
	Identities() []Identity
	// Check reports what is wrong with the settings as a whole, which the tags of single
	// ones cannot say. It also completes those whose defaults depend on others. Values
	// that were reported already may be invalid.
	Check(r Report)
}

// Identity is a form of entries in the setting "allow".
type Identity struct {
	// Form is a regular expression.
	Form string
	// What is wrong with such an entry, and in Want, what to write instead; there, "%s"
	// stands for the entry. If What is empty, the network vouches for such an identity:
	// people cannot choose it.
	What, Want string
}

// Report takes what [Settings.Check] finds. A key is that of a setting, like "server",
// "sasl.user" or "rooms[0].name"; "" is the channel itself. The sentences never repeat a
// secret, or a value that a variable or a file may have.
type Report interface {
	// Enabled is false for a channel that is turned off, which may lack what it needs to
	// run.
	Enabled() bool
	// Written reports whether the file has the setting.
	Written(key string) bool
	// Bad reports a mistake: what it is, and what to write instead.
	Bad(key, what, want string)
	// Warn reports what is allowed but probably a mistake.
	Warn(key, what, want string)
}

// FormTeller is for settings that need forms of their own. Without it, the tag "is" can
// only name the forms of internal/config.
type FormTeller interface {
	// Forms are functions by the name that the tag has. Each returns what is wrong with
	// a text, in which "%s" stands for the text, and what to write instead; what is ""
	// if nothing is.
	Forms() map[string]func(text string) (what, want string)
}

// Distinct is for settings of which some must differ from those of the type's other
// channels. Without it, only one channel of the type can be enabled.
type Distinct interface {
	// Distinct returns what no other enabled channel of the type may have, "" for
	// nothing, and the sentence about one that has it, in which "%s" stands for the name
	// of the first.
	Distinct() (id, what string)
}

// Folder is for networks on which an identity can be written in several ways. Without
// it, entries in "allow" are compared as they are written.
type Folder interface {
	// Fold returns an identity as the channel reports it in Person.IDs.
	Fold(identity string) string
}

// ChatKnower is for networks that know the forms of their chats' ids. Without it, the
// settings "prompts" and "models" can name any.
type ChatKnower interface {
	// IsChat reports whether pattern can match a chat; "*" in it stands for any
	// characters.
	IsChat(pattern string) bool
}

// Nicknamed is for networks on which Dragoman has a configured name, {nick} in prompts.
// Without it, the name is Dragoman.
type Nicknamed interface {
	Nickname() string
}

// Local is for channels whose people come to the daemon itself, as to the page or to the
// terminal. Such a channel is there unless the file turns it off, by default for
// everybody who can reach it, runs on all nodes at once, and has neither strangers nor
// groups. Without it, a channel is a network.
type Local interface {
	// Everybody says in a few words who "*" is. token: the page asks for one.
	Everybody(token bool) string
}

// CalledBack is for networks that may call the daemon over HTTP: see [Called]. Without it,
// they never do.
type CalledBack interface {
	// CallsAt is the address below which the network calls, "" if it does not.
	CallsAt() string
}

// Maker is for settings that are enough to make the channel, together with what every
// channel gets. The channels of the other types are made in internal/app.
type Maker interface {
	// Make makes the channel. It connects nowhere.
	Make(s Setup) (Channel, error)
}

// Setup is what a channel gets besides its settings.
type Setup struct {
	// Name is the channel's name, the first part of its keys.
	Name string
	// Everything: in shared chats every message is meant for Dragoman.
	Everything bool
	// Shared: several nodes have this channel, and one of them runs it at a time. Another
	// one that takes over ends Run with ErrElsewhere.
	Shared bool
	// ReadFile reads a file that a setting names. What an adapter opens by itself is its
	// own: its state, or a folder that is its network.
	ReadFile func(path string) ([]byte, error)
	// Proxy chooses the proxy of a request, as in http.Transport.
	Proxy func(*http.Request) (*url.URL, error)
	// Logger is never nil.
	Logger *slog.Logger
}
