package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/internal/admission"
	"dragoman/internal/config"
	"dragoman/internal/setting"
)

// toll is a type of rule that does not exist.
var toll = admission.Type{Name: "toll", Settings: func() admission.Settings { return new(tollSettings) }}

// tollSettings are those of the type toll.
type tollSettings struct {
	Price int              `yaml:"price" default:"3" range:"1..9" doc:"What a turn costs."`
	Rest  setting.Duration `yaml:"rest" default:"1h" doc:"How long it is paid for."`
}

func (*tollSettings) Rule(admission.Setup) admission.Rule { return nil }

// loadRules loads a file for a daemon that has the rules pause and toll.
func loadRules(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dragoman.yaml")
	write(t, path, text)
	o := options(t, path)
	o.Rules = []admission.Type{toll, admission.Pause}
	c, _, err := config.Load(o)
	return c, err
}

// The settings of a rule are a section below limits, read, checked and written like all
// others, from its type alone.
func TestRulesOwnTheirSettings(t *testing.T) {
	is, err := loadRules(t, "limits: {toll: {price: 7}}\n")
	if err != nil {
		t.Fatal(err)
	}
	got := *is.Limits.Rules["toll"].(*tollSettings)
	if want := (tollSettings{Price: 7, Rest: setting.Duration(time.Hour)}); got != want {
		t.Errorf("toll = %+v, want %+v", got, want)
	}
	again, err := loadRules(t, is.Effective())
	if err != nil {
		t.Fatalf("%v:\n%s", err, is.Effective())
	}
	if *again.Limits.Rules["toll"].(*tollSettings) != got {
		t.Errorf("what Effective writes is read as %+v, want %+v", again.Limits.Rules["toll"], got)
	}
	was, err := loadRules(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Changed(was, is); !slices.Equal(got, []string{"limits.toll.price"}) {
		t.Errorf("Changed = %q, want the price", got)
	}
	for text, want := range map[string]string{
		"limits: {toll: {price: 10}}":  "limits.toll.price: ",
		"limits: {toll: {prise: 3}}":   `limits.toll.prise: unknown key; did you mean "price"?`,
		"limits: {troll: {price: 3}}":  `limits.troll: unknown key; did you mean "toll"?`,
		"limits: {toll: {rest: soon}}": `limits.toll.rest: "soon" is not a time span`,
	} {
		if _, err := loadRules(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	var paths []string
	for _, e := range config.Reference(nil, []admission.Type{toll, admission.Pause}) {
		if strings.HasPrefix(e.Path, "limits.") {
			paths = append(paths, e.Path+"="+e.Default)
		}
	}
	if want := []string{"limits.pause.answer=", "limits.pause.keep=false", "limits.toll.price=3", "limits.toll.rest=1h"}; !slices.Equal(paths, want) {
		t.Errorf("Reference has %q, want %q", paths, want)
	}
}
