package webpage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"unicode/utf8"
)

const (
	// MostText is how much text of a page [Serve] keeps, in bytes.
	MostText = 4 << 20
	// MostServed is how many bytes [Serve] writes at most.
	MostServed = MostText + 64<<10

	mostTitle = 4 << 10
)

// asked is where a page is from. Its body follows after a line break.
type asked struct {
	Base, Type string
}

// served is a page without its text, which follows after a line break.
type served struct {
	Title, Binary string
}

// Ask is what [Serve] reads: the arguments of [Read].
func Ask(base *url.URL, contentType string, body []byte) (io.Reader, error) {
	head, err := json.Marshal(asked{base.String(), contentType})
	if err != nil {
		return nil, fmt.Errorf("webpage: ask: %w", err)
	}
	return io.MultiReader(bytes.NewReader(append(head, '\n')), bytes.NewReader(body)), nil
}

// Serve is a work of internal/sandbox: it reads what [Ask] returns and writes the page, for
// [Served]. A few kilobytes of HTML can make a tree of gigabytes, because an element that is
// not closed is repeated in each paragraph, and the parser has no limit and cannot be ended.
func Serve(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("cannot be read just now (%w)", err)
	}
	var from asked
	if err := json.Unmarshal(line, &from); err != nil {
		return fmt.Errorf("cannot be read just now (%w)", err)
	}
	base, err := url.Parse(from.Base)
	if err != nil {
		return fmt.Errorf("cannot be read just now (%w)", err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("cannot be read just now (%w)", err)
	}
	p := Read(base, from.Type, body)
	head, err := json.Marshal(served{beginning(p.Title, mostTitle), beginning(p.Binary, mostTitle)})
	if err == nil {
		_, err = out.Write(append(head, '\n'))
	}
	if err == nil {
		_, err = io.WriteString(out, beginning(p.Text, MostText))
	}
	return err
}

// Served is the page that [Serve] wrote.
func Served(data []byte) (Page, error) {
	head, text, _ := bytes.Cut(data, []byte("\n"))
	var about served
	if err := json.Unmarshal(head, &about); err != nil {
		return Page{}, fmt.Errorf("webpage: read what a child wrote: %w", err)
	}
	return Page{Title: about.Title, Text: string(text), Binary: about.Binary}, nil
}

// beginning is at most most bytes of s, in whole characters.
func beginning(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
