package file_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"dragoman/sessions/file"
)

// What only a document has is found, and nothing that the store wrote is taken
// for it.
func TestUncarried(t *testing.T) {
	find := func(p *place) file.Uncarried {
		t.Helper()
		u, err := file.FindUncarried(p.dir)
		must(t, err)
		return u
	}
	p := newPlace(t)
	s := p.open(t)
	fill(t, s)
	must(t, s.Close())
	same(t, "of a new store", find(p), file.Uncarried{})

	for _, c := range []struct {
		what, name, old, new string
		want                 file.Uncarried
	}{
		{"at the top", "x_new", `"format": 2,`, `"format": 2, "mine": {"a": 1},`, file.Uncarried{}},
		{"too long for a list", "x_new", `"format": 2,`, `"format": 2, "mine": "` + strings.Repeat("m", 64<<10) + `",`, file.Uncarried{Fields: 1}},
		{"nothing in it", "x_new", `"format": 2,`, `"format": 2, "mine": null,`, file.Uncarried{}},
		{"a number that no float64 is, at the top", "x_new", `"format": 2,`, `"format": 2, "mine": 1E400, "low": [-1e999],`, file.Uncarried{}},
		{"such a number of a message", "x_new", `"content": "after two"`, `"content": "after two", "mood": 1E400`, file.Uncarried{}},
		{"such a number of usage", "x_new", `"input": 1`, `"input": 1, "reasoning": -1e999`, file.Uncarried{}},
		{"nothing of usage", "x_new", `"input": 1`, `"input": 1, "reasoning": 0.0e7`, file.Uncarried{}},
		{"next to nothing of usage", "x_new", `"input": 1`, `"input": 1, "reasoning": 1e-999`, file.Uncarried{}},
		{"of a message", "x_new", `"content": "after two"`, `"content": "after two", "mood": "good"`, file.Uncarried{}},
		{"of usage", "x_new", `"input": 1`, `"input": 1, "reasoning": 7`, file.Uncarried{}},
		{"of the head", "x_new", `"head": {`, `"head": {"mine": 1,`, file.Uncarried{}},
		{"beside a queue alone", "x_work", `"format": 2,`, `"format": 2, "mine": 1,`, file.Uncarried{Fields: 1}},
		{"a text", "x_new", `"content": "after two"`, `"content": "after 2"`, file.Uncarried{}},
		{"metadata", "x_set", "\"metadata\": {\n    \"who\"", "\"metadata\": {\n    \"what\"", file.Uncarried{}},
		{"a title", "x_new", `"title": "title"`, `"title": "other"`, file.Uncarried{}},
	} {
		left := p.crash(t)
		path := left.path("conversations/" + c.name + ".json")
		text := read(t, path)
		edited := bytes.Replace(text, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(text, edited) {
			t.Fatalf("%s: there is no %s in\n%s", c.what, c.old, text)
		}
		must(t, os.WriteFile(path, edited, 0o600))
		same(t, c.what, find(left), c.want)
	}
}
