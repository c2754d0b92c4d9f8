package console_test

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"dragoman/channels/markup"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what goldmark reads into the corpus")

// plainPen writes the elements of a text in the plain form of the corpus.
type plainPen struct{ b strings.Builder }

func plain(body markup.Body) string {
	var p plainPen
	body(&p)
	return p.b.String()
}

func (p *plainPen) Words(s string) { p.b.WriteString(strings.ReplaceAll(s, "\n", "↵")) }

func (p *plainPen) Gap(markup.Gap) { p.b.WriteString("\n") }

func (p *plainPen) Within(m markup.Mark, body markup.Body) {
	inside := plain(body)
	switch m.Kind {
	case markup.Heading:
		inside = "# " + inside
	case markup.Bold:
		inside = "b(" + inside + ")"
	case markup.Italic:
		inside = "i(" + inside + ")"
	case markup.Struck:
		inside = "s(" + inside + ")"
	case markup.Link:
		inside = "a(" + m.To + " " + inside + ")"
	case markup.Quote:
		inside = "> " + strings.ReplaceAll(inside, "\n", "\n> ")
	case markup.Item:
		mark := "- "
		if m.Ordered {
			mark = strconv.Itoa(m.Number) + ". "
		}
		inside = mark + strings.ReplaceAll(inside, "\n", "\n  ")
	}
	p.b.WriteString(inside)
}

func (p *plainPen) Code(c markup.Code) {
	if !c.Block {
		p.b.WriteString("code(" + c.Text + ")")
		return
	}
	p.b.WriteString("```" + c.Language + "\n" + strings.TrimSuffix(c.Text, "\n") + "\n```")
}

func (p *plainPen) Table(rows [][]markup.Body) {
	for i, row := range rows {
		if i > 0 {
			p.b.WriteString("\n")
		}
		for _, cell := range row {
			p.b.WriteString("| " + plain(cell) + " ")
		}
		p.b.WriteString("|")
	}
}

// Goldmark reads each text of the corpus as the corpus says. That the page does too is for
// .ci/page/corpus.test.mjs.
func TestCorpus(t *testing.T) {
	const file = "testdata/markdown.txtar"
	corpus, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range corpus.Files {
		texts[f.Name] = string(f.Data)
	}
	wrote := &txtar.Archive{Comment: corpus.Comment}
	for _, f := range corpus.Files {
		name, is := strings.CutSuffix(f.Name, ".md")
		if !is {
			continue
		}
		got := plain(func(p markup.Pen) { markup.Walk(markup.Tidy(string(f.Data)), p) }) + "\n"
		wrote.Files = append(wrote.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
		if diff := cmp.Diff(texts[name+".want"], got); diff != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(wrote), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
