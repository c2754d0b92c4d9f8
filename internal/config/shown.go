package config

import (
	"fmt"
	"os"
	"strconv"

	"dragoman/internal/lazily"

	"gopkg.in/yaml.v3"
)

// Shown is one setting as it counts.
type Shown struct {
	Path string // "http.listen", "channels.telegram.allow[0]"
	// Value is as in YAML; secrets are hidden.
	Value string
	// Line is where the file has it; 0: it is a default.
	Line int
	// Environment: the file names a variable of the environment there.
	Environment bool
}

// named is how a file names a variable of the environment.
var named = lazily.Compile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// Shown lists all settings that have a value, with the lines of the file that sets them,
// as far as the file can still be read.
func (c *Config) Shown() ([]Shown, error) {
	var effective yaml.Node
	if err := effective.Encode(c); err != nil {
		return nil, fmt.Errorf("config: show the settings: %w", err)
	}
	lines := map[string]int{}
	environment := map[string]bool{}
	if text, err := os.ReadFile(c.source.Path); err == nil { // there may be none, or it may be gone
		var file yaml.Node
		if yaml.Unmarshal(text, &file) == nil && len(file.Content) > 0 {
			eachScalar(file.Content[0], "", func(path string, n *yaml.Node) {
				lines[path] = n.Line
				environment[path] = named.Regexp().MatchString(n.Value)
			})
		}
	}
	var list []Shown
	eachScalar(&effective, "", func(path string, n *yaml.Node) {
		list = append(list, Shown{Path: path, Value: n.Value, Line: lines[path], Environment: environment[path]})
	})
	return list, nil
}

// eachScalar calls do for each value below n that is neither a list nor a section.
func eachScalar(n *yaml.Node, path string, do func(path string, n *yaml.Node)) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			eachScalar(n.Content[i+1], join(path, n.Content[i].Value), do)
		}
	case yaml.SequenceNode:
		for i, one := range n.Content {
			eachScalar(one, path+"["+strconv.Itoa(i)+"]", do)
		}
	case yaml.AliasNode:
		eachScalar(n.Alias, path, do)
	default:
		do(path, n)
	}
}
