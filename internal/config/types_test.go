package config_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/setting"

	"github.com/google/go-cmp/cmp"
)

// pigeon is a made-up type of channels, all of which is in this file: what the
// configuration needs of a new type is what its package declares.
var pigeon = channels.Type{Name: "pigeon", Settings: func() channels.Settings { return new(pigeonSettings) }}

// pigeonSettings are those of one loft.
type pigeonSettings struct {
	Loft   string           `yaml:"loft" is:"loft" empty:"ok" doc:"Where the pigeons live."`
	Seal   setting.Secret   `yaml:"seal,omitempty" is:"seal" apart:"yes" doc:"What letters are sealed with."`
	Rest   setting.Duration `yaml:"rest" default:"10m" range:"1m..24h" doc:"How long a pigeon rests."`
	Weight setting.Size     `yaml:"weight" default:"1KiB" doc:"Maximum size of a letter."`
	Names  []string         `yaml:"names,flow" default:"dragoman drago" is:"line" doc:"What people call us."`
	Flight pigeonFlight     `yaml:"flight"`
	Roofs  []pigeonRoof     `yaml:"roofs"`
}

// pigeonFlight is how pigeons fly.
type pigeonFlight struct {
	Height int    `yaml:"height" default:"30" range:"1..500" doc:"In metres."`
	Wind   string `yaml:"wind" default:"any" oneof:"any back none" doc:"In which wind they fly."`
}

// pigeonRoof is a place where pigeons land.
type pigeonRoof struct {
	Name string         `yaml:"name" short:"yes" once:"yes" is:"line" doc:"The roof."`
	Bell setting.Secret `yaml:"bell,omitempty" doc:"How to ring there."`
}

func (*pigeonSettings) Network() string    { return "pigeon post" }
func (s *pigeonSettings) Nickname() string { return s.Names[0] }

func (*pigeonSettings) Identities() []channels.Identity {
	return []channels.Identity{
		{Form: `^ring:[0-9]+$`},
		{Form: `^[0-9]+$`, What: "is a number alone", Want: "write ring:%s"},
		{Form: ``, What: "is no ring", Want: "write ring:NUMBER"},
	}
}

func (*pigeonSettings) Forms() map[string]func(text string) (what, want string) {
	return map[string]func(string) (string, string){
		"loft": setting.Like(`^[a-z]+$`, "%s is not a loft", "write its name"),
		"seal": setting.Like(`^.{4}`, "is too short for a seal", "make a longer one"),
	}
}

func (*pigeonSettings) Fold(identity string) string { return strings.ToLower(identity) }

func (*pigeonSettings) IsChat(pattern string) bool { return strings.HasPrefix(pattern, "roof") }

func (s *pigeonSettings) Distinct() (id, what string) { return s.Loft, "has the same loft as %s" }

func (s *pigeonSettings) Check(r channels.Report) {
	if r.Enabled() && !r.Written("loft") {
		r.Bad("loft", "is needed", "write where the pigeons live")
	}
	if s.Flight.Wind == "none" && r.Written("flight.height") {
		r.Bad("flight.height", "has no effect without wind", "remove it")
	}
	for i, roof := range s.Roofs {
		if roof.Name == s.Loft {
			r.Warn(fmt.Sprintf("roofs[%d].name", i), "is the loft itself", "remove it")
		}
	}
}

// loadPigeons loads a configuration with the one type of channels.
func loadPigeons(t *testing.T, text string, types ...channels.Type) (*config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dragoman.yaml")
	write(t, path, text)
	o := options(t, path, "SEAL=canary-seal")
	o.Types = append(types, pigeon)
	c, _, err := config.Load(o)
	return c, err
}

const twoLofts = `channels:
  north:
    type: pigeon
    loft: north
    seal: "${SEAL}"
    allow: [RING:7]
    roofs: [town, {name: tower, bell: canary-bell}]
    prompts: {"roof:*": "You are {nick} of the {network} on {channel}."}
  pigeon: {enabled: false, flight: {wind: back}}
`

// A type that the configuration does not know by name is read, filled in, shown and
// described from its declaration alone.
func TestMadeUpType(t *testing.T) {
	c, err := loadPigeons(t, twoLofts)
	if err != nil {
		t.Fatal(err)
	}
	north := c.Channels["north"]
	want := &pigeonSettings{
		Loft: "north", Seal: setting.NewSecret("canary-seal"), Rest: setting.Duration(10 * 60e9), Weight: 1 << 10, Names: []string{"dragoman", "drago"},
		Flight: pigeonFlight{Height: 30, Wind: "any"},
		Roofs:  []pigeonRoof{{Name: "town"}, {Name: "tower", Bell: setting.NewSecret("canary-bell")}},
	}
	secrets := cmp.Comparer(func(a, b setting.Secret) bool { return a.Reveal() == b.Reveal() })
	if diff := cmp.Diff(want, north.Settings, secrets); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ring:7"}, north.Allow); diff != "" {
		t.Errorf("allow is not folded: %s", diff)
	}
	if diff := cmp.Diff([]string{"north: 1 entry in allow may talk; in shared chats only when addressed"}, c.Policy()); diff != "" {
		t.Error(diff)
	}
	if got, want := north.System("roof:town", false), "You are dragoman of the pigeon post on roof:town."; got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
	if len(c.Warnings()) > 0 {
		t.Errorf("Warnings = %v, want none", c.Warnings())
	}
	shown := c.Effective()
	for _, line := range []string{
		"  north:\n    type: pigeon\n    enabled: true\n", "    loft: north\n    seal: <secret>\n    rest: 10m\n    weight: 1KiB\n",
		"    names: [dragoman, drago]\n", "      height: 30\n", "      - name: tower\n        bell: <secret>\n", "      wind: back\n",
	} {
		if !strings.Contains(shown, line) {
			t.Errorf("Effective lacks %q:\n%s", line, shown)
		}
	}
	if strings.Contains(shown, "canary") {
		t.Errorf("Effective shows a secret:\n%s", shown)
	}
	if again, err := loadPigeons(t, shown); err != nil || !cmp.Equal(again.Policy(), c.Policy()) {
		t.Errorf("Effective does not load: %v", err)
	}
}

// What is wrong is reported at its path and line, in the type's own words.
func TestMadeUpTypeProblems(t *testing.T) {
	_, err := loadPigeons(t, `channels:
  a:
    type: pigeon
    allow: [7, x, "${SEAL}"]
    seal: abc
    rest: 3s
    wieght: 5
    flight: {wind: none, height: 4}
  b: {type: pigeon, loft: Up, allow: [ring:1], prompts: {cellar: x}}
  c: {type: pigeon, loft: up, allow: [ring:1], roofs: [x, x]}
  d: {type: pigeon, loft: up, allow: [ring:1]}
  e: {type: irc}
`)
	want := []string{
		`2 channels.a.loft: is needed; write where the pigeons live`,
		`4 channels.a.allow[0]: "7" is a number alone; write ring:7`,
		`4 channels.a.allow[1]: "x" is no ring; write ring:NUMBER`,
		`4 channels.a.allow[2]: this is no ring; write ring:NUMBER`,
		`5 channels.a.seal: is too short for a seal; make a longer one`,
		`6 channels.a.rest: 3s is out of range; write 1m to 24h`,
		`7 channels.a.wieght: unknown key; did you mean "weight"?`,
		`8 channels.a.flight.height: has no effect without wind; remove it`,
		`9 channels.b.loft: "Up" is not a loft; write its name`,
		`9 channels.b.prompts.cellar: is not a chat of pigeon post; write private, group, or a chat's id like "#go" or "-1001234567890", which may have a *`,
		`10 channels.c.roofs[1].name: appears twice; keep one, or give it another name`,
		`11 channels.d: has the same loft as c; remove one, or turn it off with enabled: false`,
		`12 channels.e.type: is not a type that this version knows; write pigeon`,
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	_, err = loadPigeons(t, "http: {token: canary-seal-of-north}\nchannels: {north: {type: pigeon, loft: n, allow: [ring:1], seal: canary-seal-of-north}}\n")
	if diff := cmp.Diff([]string{"1 http.token: is the same as channels.north.seal; make a separate one with: openssl rand -hex 32"}, problems(t, err)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	c, err := loadPigeons(t, "channels: {pigeon: {loft: n, allow: [ring:1], roofs: [n]}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"channels.pigeon.roofs[0].name: is the loft itself; remove it"}, warned(c)); diff != "" {
		t.Error(diff)
	}
}

// warned are the warnings of a configuration, without file and line.
func warned(c *config.Config) (all []string) {
	for _, w := range c.Warnings() {
		all = append(all, config.Problem{Path: w.Path, What: w.What, Want: w.Want}.String())
	}
	return all
}

// A made-up type is in the reference, and settings that differ are found.
func TestMadeUpTypeIsDescribed(t *testing.T) {
	var got []string
	for _, e := range config.Reference([]channels.Type{pigeon}, nil) {
		if key, ok := strings.CutPrefix(e.Path, "channels.<pigeon>."); ok {
			got = append(got, fmt.Sprintf("%s | %s | %s | %s", key, e.Kind, e.Default, e.Doc))
		}
	}
	want := []string{
		"type | text | pigeon | pigeon. Default: the channel's name.",
		"loft | text |  | Where the pigeons live.",
		"seal | secret |  | What letters are sealed with.",
		"rest | duration, 1m to 24h | 10m | How long a pigeon rests.",
		"weight | size | 1KiB | Maximum size of a letter.",
		`names | list | ["dragoman", "drago"] | What people call us.`,
		"flight.height | whole number, 1 to 500 | 30 | In metres.",
		"flight.wind | text | any | In which wind they fly.",
		"roofs[].name | text |  | The roof.",
		"roofs[].bell | secret |  | How to ring there.",
	}
	if diff := cmp.Diff(want, append(got[:1], got[9:]...)); diff != "" { // between them are those of all types
		t.Errorf("-want +got\n%s", diff)
	}
	was, err := loadPigeons(t, twoLofts)
	if err != nil {
		t.Fatal(err)
	}
	is, err := loadPigeons(t, strings.Replace(twoLofts, "wind: back", "wind: any", 1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"channels.pigeon.flight.wind"}, config.Changed(was, is)); diff != "" {
		t.Error(diff)
	}
}

// careless declares less than it should.
type careless struct {
	Allow   string         `yaml:"allow" doc:"x"`
	Loft    string         `yaml:"loft" is:"loft"`
	Speed   int64          `yaml:"speed" doc:"x"`
	Count   int            `yaml:"count" default:"0" range:"1..9" doc:"x"`
	Rest    setting.Size   `yaml:"rest" default:"long" doc:"x"`
	Holders []carelessRoof `yaml:"holders"`
}

// carelessRoof is a setting of careless.
type carelessRoof struct {
	Name string `yaml:"name"`
}

func (*careless) Network() string                 { return "" }
func (*careless) Identities() []channels.Identity { return []channels.Identity{{Form: "(", What: "x"}} }
func (*careless) Check(channels.Report)           {}

// forgetful forgets its identities.
type forgetful struct{}

func (*forgetful) Network() string                 { return "nowhere" }
func (*forgetful) Identities() []channels.Identity { return nil }
func (*forgetful) Check(channels.Report)           {}

// What a declaration lacks is found before anybody runs it, and named.
func TestIncompleteTypes(t *testing.T) {
	for _, kind := range app.Types() {
		if flaws := config.Incomplete(kind); len(flaws) > 0 {
			t.Errorf("%s", strings.Join(flaws, "\n"))
		}
	}
	if flaws := config.Incomplete(pigeon); len(flaws) > 0 {
		t.Errorf("the made-up type: %q", flaws)
	}
	for _, test := range []struct {
		kind channels.Type
		want []string
	}{
		{channels.Type{Name: "Care Less", Settings: func() channels.Settings { return new(careless) }}, []string{
			"type Care Less: this is no name that a channel can have",
			"type Care Less: a form in Identities: error parsing regexp: missing closing ): `(`",
			"type Care Less: Identities has no form without What, so that nobody could be allowed",
			"type Care Less: the key allow is taken",
			"type Care Less: loft has no doc",
			`type Care Less: loft: there is no form "loft"`,
			"type Care Less: speed: no setting can be a int64",
			"type Care Less: count: the default 0 is out of range",
			"type Care Less: rest: the default is no size",
			"type Care Less: holders[].name has no doc",
		}},
		{channels.Type{Name: "nowhere", Settings: func() channels.Settings { return new(forgetful) }}, []string{
			"type nowhere: Identities has no form without What, so that nobody could be allowed",
		}},
	} {
		if diff := cmp.Diff(test.want, config.Incomplete(test.kind)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

// Whoever forgets identities can let nobody in, and is told so.
func TestForgottenIdentities(t *testing.T) {
	nowhere := channels.Type{Name: "nowhere", Settings: func() channels.Settings { return new(forgetful) }}
	_, err := loadPigeons(t, "channels: {nowhere: {allow: [ann]}, other: {type: nowhere, allow: [\"*\"]}}\n", nowhere)
	want := []string{
		`1 channels.nowhere.allow[0]: "ann" is not an entry for this type of channel; write "*" (everybody who can reach it may talk) or [] (nobody)`,
		`1 channels.other: there is one channel of this type already: nowhere; remove one, or turn it off with enabled: false`,
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
