package api

import (
	"context"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/people"
)

// Me is who asks, and what they may do.
type Me struct {
	// Person is "operator", or an identity of a network like telegram:42, and Name what
	// people call them.
	Person string       `json:"person"`
	Name   string       `json:"name"`
	Scope  people.Scope `json:"scope"`
	// Token is the name of the token that was shown; "": none was.
	Token string `json:"token,omitempty"`
	// Identities are those under which they write, one of each network or several. At a port
	// without tokens, where nobody shows who they are, only the names that rooms have for them.
	Identities []string `json:"identities"`
	// Home is their first room on the page. With another name in the place of "default" it
	// is another room of theirs.
	Home    channels.Key `json:"home,omitzero"`
	Version string       `json:"version"`
	// MaxFile is how large a file of theirs may be, in bytes; left out: files cannot be sent.
	MaxFile int64 `json:"max_file,omitempty"`
}

// homeRoom is the name of everybody's first room.
const homeRoom = "default"

func (s *server) me(ctx context.Context, _ None) (Me, error) {
	who := caller(ctx)
	known, err := s.Directory.Identities(ctx, who.ID)
	if err != nil {
		return Me{}, err
	}
	known = s.shownTo(who, known)
	if known == nil {
		known = []string{} // never null
	}
	me := Me{Person: who.ID, Name: who.Speaker(), Scope: who.Scope, Token: who.Token, Identities: known, Version: s.Info().Version, MaxFile: s.MaxFile}
	if s.Channels == nil {
		return me, nil
	}
	all := s.Channels()
	page := slices.IndexFunc(all, func(c Channel) bool { return c.Type == pageType })
	if page >= 0 {
		me.Home, err = channels.NewKey(all[page].Name, people.Room(who, homeRoom))
	}
	return me, err
}

// shownTo are those of the caller's identities of which they are told anything. At a port
// without tokens, where nobody shows who they are, these are the names that rooms have for
// them.
func (s *server) shownTo(who people.Principal, identities []string) []string {
	if !who.AtOpenPort() {
		return identities
	}
	return slices.DeleteFunc(identities, func(one string) bool {
		room, id, _ := strings.Cut(one, ":")
		return !slices.Contains(s.Directory.Rooms(), room) || strings.Contains(id, ":") // a joined one
	})
}

// pageType is the type of the channel whose rooms are those of the page.
const pageType = "web"

// placed adds to conversations on what network they are and whose they are. It says so of
// all of them: a list shows the key of each anyway.
func (s *server) placed(ctx context.Context, list []Conversation) error {
	types := map[string]string{jobs: jobs}
	if s.Channels != nil {
		for _, c := range s.Channels() {
			types[c.Name] = c.Type
		}
	}
	for i := range list {
		sight, err := s.Reads.Of(ctx, caller(ctx), list[i].Key)
		if err != nil {
			return err
		}
		list[i].Network = types[list[i].Key.Channel()]
		list[i].Group = sight.Group
		list[i].Own = sight.Own
		list[i].Readable = sight.May
	}
	return nil
}
