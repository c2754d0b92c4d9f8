package config_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/internal/config"
)

var (
	typeOf     = regexp.MustCompile(`^channels\.<([a-z0-9_-]+)>\.`)
	topLevel   = regexp.MustCompile(`\n[a-z_]+:`)
	afterBlock = regexp.MustCompile(`\n\n[a-z_]+:`)
)

// hasBlock reports whether an example has a channel of that type.
func hasBlock(example string, kind channels.Type) bool {
	return strings.Contains(example, "type: "+kind.Name+"\n")
}

// shows reports whether an example has the key of e, at its own place.
func shows(example string, e config.Entry) bool {
	last := e.Path[strings.LastIndexByte(e.Path, '.')+1:]
	section := example
	if kind := typeOf.FindStringSubmatch(e.Path); kind != nil {
		line := "type: " + kind[1] + "\n"
		_, section, _ = strings.Cut(example, line)
		section = line + strings.Split(section, "\n\n")[0]
	} else if top, _, nested := strings.Cut(e.Path, "."); nested {
		top = strings.TrimSuffix(top, "[]")
		_, section, _ = strings.Cut(example, "\n"+top+":")
		section = topLevel.Split(section, 2)[0]
	}
	return regexp.MustCompile(`(?m)[ {#-]` + last + `:( |$)|^` + last + `:( |$)`).MatchString(section)
}

// withBlock is an example with a channel of that type after the others. The channel is
// turned off, so that it needs nothing that only people know. Settings without a default
// are comments.
func withBlock(example string, kind channels.Type) string {
	block := "\n\n  " + kind.Name + ":"
	opened := map[string]bool{}
	for _, e := range config.Reference([]channels.Type{kind}, nil) {
		path, of := strings.CutPrefix(e.Path, "channels.<"+kind.Name+">.")
		if !of {
			continue
		}
		keys := strings.Split(path, ".")
		indent, mark := "\n    ", ""
		for i, key := range keys[:len(keys)-1] {
			section := strings.Join(keys[:i+1], ".")
			name, list := strings.CutSuffix(key, "[]")
			switch {
			case opened[section]:
			case list:
				block += indent + mark + name + ": []"
			default:
				block += indent + mark + name + ":"
			}
			opened[section] = true
			if list {
				mark = "# "
			}
			indent += "  "
		}
		value := e.Default
		switch key := keys[len(keys)-1]; {
		case key == "enabled":
			value = "false"
		case value != "":
		case e.Kind == "list":
			value = "[]"
		case e.Kind == "names and values":
			value = "{}"
		default:
			mark = "# "
		}
		block += indent + "# " + e.Doc
		block += indent + strings.TrimRight(mark+keys[len(keys)-1]+": "+value, " ")
	}
	before, after, _ := strings.Cut(example, "\nchannels:")
	end := afterBlock.FindStringIndex(after)[0]
	return before + "\nchannels:" + after[:end] + block + after[end:]
}

// A block that was made for a type has all its keys, and loads as the defaults.
func TestMadeBlock(t *testing.T) {
	const example = "http: {}\n\nchannels:\n  web: {}\n\nheartbeat: {}\n"
	if hasBlock(example, pigeon) {
		t.Fatalf("hasBlock finds one in %q", example)
	}
	made := withBlock(example, pigeon)
	if !hasBlock(made, pigeon) {
		t.Errorf("hasBlock finds none in what was made:\n%s", made)
	}
	for _, e := range config.Reference([]channels.Type{pigeon}, nil) {
		if typeOf.MatchString(e.Path) && !shows(made, e) {
			t.Errorf("the block has no %s:\n%s", e.Path, made)
		}
	}
	path := filepath.Join(t.TempDir(), "dragoman.yaml")
	write(t, path, made)
	o := options(t, path)
	o.Types = []channels.Type{live.Type, pigeon}
	c, _, err := config.Load(o)
	if err != nil {
		t.Fatalf("%v:\n%s", err, made)
	}
	ch := c.Channels["pigeon"]
	if s := ch.Settings.(*pigeonSettings); ch.Enabled || s.Rest.D() != 10*time.Minute || s.Flight.Height != 30 || len(s.Names) != 2 {
		t.Errorf("the block means %+v, %+v, want the defaults, turned off", ch, s)
	}
}
