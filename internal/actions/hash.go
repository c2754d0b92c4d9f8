package actions

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"dragoman/channels"
)

// maxDepth is how deep arguments may nest.
const maxDepth = 100

// errTwice: two readers of such an object may see two different values.
var errTwice = errors.New("an argument is there twice")

// canonical writes the arguments of a call in the one way in which equal ones are equal
// text: sorted names, no spaces, numbers as they were written.
func canonical(args string) (text string, err error) {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	v, err := value(d, 0)
	if err != nil {
		return "", fmt.Errorf("actions: read arguments: %w", err)
	}
	_, err = d.Token()
	values, is := v.(map[string]any)
	if !errors.Is(err, io.EOF) || !is {
		return "", errors.New("actions: read arguments: they are not one JSON object")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(values)
	if err != nil {
		return "", fmt.Errorf("actions: write arguments: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// value reads the next value of d, which is at that depth.
func value(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("they nest deeper than %d", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return object(d, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

// object reads the rest of an object.
func object(d *json.Decoder, depth int) (any, error) {
	all := map[string]any{}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		// Tools written in Go read names whatever their case is.
		folded := strings.ToLower(name)
		if seen[folded] {
			return nil, errTwice
		}
		seen[folded] = true
		all[name], err = value(d, depth+1)
		if err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return all, err
}

// File is a file that a call names, as it was when somebody was asked.
type File struct {
	Name string `json:"name"`
	// Hash is the sha256 of its content, in hex; "" if there is no such file.
	Hash string `json:"hash,omitempty"`
}

// subject is what a yes is about. On disk there is only its hash, so a new field makes
// nothing valid that was not.
type subject struct {
	Tool       string       `json:"tool"`
	Args       string       `json:"args"` // canonical
	Key        channels.Key `json:"key"`
	Requester  string       `json:"requester"`
	Generation string       `json:"generation"`
	Policy     string       `json:"policy"`
	Files      []File       `json:"files"`
}

// hash identifies s.
func (s subject) hash() string {
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // it has nothing but text
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// standing is the hash of s for an "always", which outlives /new: the person said it of
// the call and not of the conversation, and can take it back.
func (s subject) standing() string {
	s.Generation = "*"
	return s.hash()
}
