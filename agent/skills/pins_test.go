package skills_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/skills"
)

// What cannot be accepted changes nothing, and what is gone is forgotten.
func TestPinsAccept(t *testing.T) {
	for _, test := range []struct {
		skill skills.Skill
		want  skills.Pins
		fails string
	}{
		{skills.Skill{Name: "new", State: skills.New, Hash: "2"}, skills.Pins{"tidy": "1", "new": "2"}, ""},
		{skills.Skill{Name: "tidy", State: skills.Changed, Hash: "2"}, skills.Pins{"tidy": "2"}, ""},
		{skills.Skill{Name: "tidy", State: skills.Accepted, Hash: "1"}, skills.Pins{"tidy": "1"}, ""},
		{skills.Skill{Name: "tidy", State: skills.Gone, Hash: "1"}, skills.Pins{}, ""},
		{skills.Skill{Name: "tidy", State: skills.Wrong, Why: "it has a link"}, skills.Pins{"tidy": "1"}, "it has a link"},
	} {
		pins := skills.Pins{"tidy": "1"}
		err := pins.Accept(test.skill)
		if (err == nil) != (test.fails == "") || err != nil && err.Error() != test.fails {
			t.Errorf("%s: the error is %v, want %q", test.skill.State, err, test.fails)
		}
		if diff := cmp.Diff(test.want, pins); diff != "" {
			t.Errorf("%s: pins (-want +got):\n%s", test.skill.State, diff)
		}
	}
}

// What root accepts, as by sudo, can be read by the user of the service.
func TestPinsOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write for somebody else")
	}
	dir := t.TempDir()
	const nobody = 65534
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, skills.PinsName)
	if err := (skills.Pins{"tidy": "hash"}).Write(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != nobody {
		t.Errorf("the file belongs to %d, want the owner of its folder", owner)
	}
}
