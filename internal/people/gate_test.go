package people_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"dragoman/channels"
	"dragoman/internal/people"
)

// paired knows who was let in: "channel id".
type paired struct {
	ids  []string
	fail error
}

func (p *paired) Paired(_ context.Context, channel string, ids []string) (bool, error) {
	return slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(p.ids, channel+" "+id) }), p.fail
}

// wrote is a message of somebody with these ids.
func wrote(key string, private bool, ids ...string) channels.Inbound {
	return channels.Inbound{Key: channels.MustKey(key), Private: private, Addressed: !private, Sender: channels.Person{IDs: ids}}
}

// TestMayTalk: the allow list, then pairing; ids that the network vouches for and
// nothing else.
func TestMayTalk(t *testing.T) {
	g := people.NewGate(&paired{ids: []string{"net 7"}})
	g.Set("net", people.Policy{Allow: []string{"1", "chat:-5"}, Pairing: true})
	g.Set("open", people.Policy{Allow: []string{"*"}})
	g.Set("shut", people.Policy{Allow: []string{"*", "1"}, Shut: true})
	g.Set("quiet", people.Policy{Allow: []string{"1"}, Groups: people.Off})
	quiet := wrote("net:-5", false, "1")
	quiet.Addressed = false
	for name, c := range map[string]struct {
		m    channels.Inbound
		want people.Verdict
	}{
		"on the allow list":          {wrote("net:1", true, "1"), people.Welcome},
		"a second id on it":          {wrote("net:1", true, "mask", "1"), people.Welcome},
		"paired":                     {wrote("net:7", true, "7"), people.Welcome},
		"paired elsewhere":           {wrote("open2:7", true, "7"), people.Stranger},
		"anybody in an open chat":    {wrote("net:-5", false, "9"), people.Welcome},
		"and in a topic of it":       {wrote("net:-5:3", false, "9"), people.Welcome},
		"not in another":             {wrote("net:-6", false, "9"), people.Stranger},
		"a stranger in private":      {wrote("net:9", true, "9"), people.WantsPairing},
		"who has no id":              {wrote("net:9", true), people.Stranger},
		"an empty id":                {wrote("net:9", true, ""), people.WantsPairing},
		"everybody":                  {wrote("open:9", true, "9"), people.Welcome},
		"nobody on a shut channel":   {wrote("shut:1", true, "1"), people.Stranger},
		"no groups":                  {wrote("quiet:-1", false, "1"), people.NotAddressed},
		"but private talks":          {wrote("quiet:1", true, "1"), people.Welcome},
		"others' talk in a group":    {quiet, people.NotAddressed},
		"a channel that is not ours": {wrote("nothing:1", true, "1"), people.Stranger},
	} {
		if got, err := g.MayTalk(t.Context(), c.m); got != c.want || err != nil {
			t.Errorf("%s: MayTalk = %v, %v, want %v", name, got, err, c.want)
		}
	}
}

// TestMayTalkWithoutStore: whoever is on the allow list may talk, the others
// get an error and not a welcome.
func TestMayTalkWithoutStore(t *testing.T) {
	fail := errors.New("the disk is gone")
	g := people.NewGate(&paired{ids: []string{"net 7"}, fail: fail})
	g.Set("net", people.Policy{Allow: []string{"1"}, Pairing: true})
	if got, err := g.MayTalk(t.Context(), wrote("net:1", true, "1")); got != people.Welcome || err != nil {
		t.Errorf("on the allow list: %v, %v", got, err)
	}
	if got, err := g.MayTalk(t.Context(), wrote("net:7", true, "7")); got != people.Stranger || !errors.Is(err, fail) {
		t.Errorf("paired: %v, %v", got, err)
	}
}

// TestAdmits asks for the person: being somewhere in a chat proves nothing
// about who that is later.
func TestAdmits(t *testing.T) {
	g := people.NewGate(&paired{ids: []string{"net 7"}})
	g.Set("net", people.Policy{Allow: []string{"1", "chat:-5", ""}})
	g.Set("open", people.Policy{Allow: []string{"*"}})
	g.Set("quiet", people.Policy{Allow: []string{"1"}, Groups: people.Off})
	for name, c := range map[string]struct {
		key     string
		private bool
		id      string
		want    bool
	}{
		"on the allow list, in private":       {"net:1", true, "1", true},
		"on the allow list, in a group":       {"net:-5", false, "1", true},
		"paired, in a group":                  {"net:-5", false, "7", true},
		"only the group is on it":             {"net:-5", false, "9", false},
		"a stranger":                          {"net:9", true, "9", false},
		"no id":                               {"net:9", true, "", false},
		"everybody, in private":               {"open:9", true, "9", true},
		"everybody, in a group":               {"open:-5", false, "9", false},
		"a group where groups are off":        {"quiet:-5", false, "1", false},
		"a private talk where groups are off": {"quiet:1", true, "1", true},
		"a channel that nobody may talk on":   {"nothing:1", true, "1", false},
	} {
		got, err := g.Admits(t.Context(), channels.MustKey(c.key), []string{c.id}, c.private)
		if got != c.want || err != nil {
			t.Errorf("%s: Admits = %v, %v, want %v", name, got, err, c.want)
		}
	}
	g.Set("net", people.Policy{Allow: []string{"2"}})
	if got, _ := g.Admits(t.Context(), channels.MustKey("net:1"), []string{"1"}, true); got {
		t.Error("somebody who was taken off the allow list is admitted")
	}
}
