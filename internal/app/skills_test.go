package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/api"
)

// withSkill is a place with one skill, whose file is path.
func withSkill(t *testing.T) (p *place, path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "one", "SKILL.md")
	err := os.Mkdir(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte("---\nname: one\ndescription: Does one thing.\n---\nBody\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return newPlace(t, fmt.Sprintf("skills: {dir: %q}\n", dir)), path
}

// A skill is accepted as it was read: not one that has changed since, and one that is gone is
// forgotten.
func TestSkillsByVerbs(t *testing.T) {
	t.Parallel()
	p, path := withSkill(t)
	r := p.run()
	one := func(state string) (s api.Skill) {
		t.Helper()
		list, err := api.ListSkills.Call(t.Context(), r.admin, api.None{})
		if err != nil || len(list.Data) != 1 || list.Data[0].State != state || list.Data[0].Hash == "" {
			t.Fatalf("the skills are %+v, %v, want one that is %s", list.Data, err, state)
		}
		return list.Data[0]
	}
	accept := func(name, hash, want string) {
		t.Helper()
		err := api.AcceptSkill.Call(t.Context(), r.admin, api.AcceptedSkill{Name: name, Hash: hash})
		if want == "" && err != nil || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("to accept %s = %v, want %q", name, err, want)
		}
	}
	read := one("new")
	if read.Description != "Does one thing." || read.Files != 1 || read.Bytes == 0 {
		t.Errorf("the skill is %+v", read)
	}
	if err := os.WriteFile(path, []byte("---\nname: one\ndescription: Does another thing.\n---\nBody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	accept("one", read.Hash, "another one than you have read")
	accept("two", read.Hash, "two")
	accept("one", one("new").Hash, "")
	one("accepted")
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	accept("one", one("gone").Hash, "")
	if list, err := api.ListSkills.Call(t.Context(), r.admin, api.None{}); err != nil || len(list.Data) != 0 {
		t.Errorf("the skills are %+v, %v, want none", list.Data, err)
	}
}

// describedSkills does what operators do with skills.
func (d *description) describedSkills() {
	d.t.Helper()
	p, _ := withSkill(d.t)
	c := p.run().overSocket()
	var list api.Page[api.Skill]
	err := json.Unmarshal([]byte(d.send(c, "GET", "/skills", "")), &list)
	if err != nil || len(list.Data) != 1 {
		d.t.Fatalf("the skills are %+v, %v", list, err)
	}
	d.send(c, "POST", "/skills/one/accept", `{"hash": "other"}`)
	d.send(c, "POST", "/skills/one/accept", `{"hash": "`+list.Data[0].Hash+`"}`)
}
