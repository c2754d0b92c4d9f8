package documents

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// walker reads one part as XML, element by element.
type walker struct {
	*xml.Decoder
	depth  int
	limits Limits
}

// errSkip, returned by a visit, leaves out what is within the element.
var errSkip = errors.New("documents: skip this element")

// walk calls visit for each element that begins in a part. A visit may read tokens on
// its own, as long as it stops before or at the end of its element.
func (a *archive) walk(part string, visit func(*walker, xml.StartElement) error) error {
	return a.tokens(part, func(d *walker, t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok {
			return visit(d, e)
		}
		return nil
	})
}

// tokens calls each for all tokens of a part.
func (a *archive) tokens(part string, each func(*walker, xml.Token) error) error {
	r, err := a.open(part)
	if err != nil {
		return err
	}
	defer r.Close()
	d := &walker{Decoder: xml.NewDecoder(&pieces{r: r, most: a.limits.Piece}), limits: a.limits}
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) {
		return nil, errors.New("it is not UTF-8")
	}
	for {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return broken(part, err)
		}
		if err := d.count(t); err != nil {
			return err
		}
		err = each(d, t)
		if errors.Is(err, errSkip) {
			err = d.skip()
		}
		if err != nil {
			return broken(part, err)
		}
	}
}

// vocabulary turns the elements of one kind of document into lines. Words outside of the
// elements that begin takes are white space.
type vocabulary interface {
	begin(d *walker, e xml.StartElement) error
	end(name string) error
}

// lines is what tokens calls for a vocabulary.
func lines(v vocabulary) func(*walker, xml.Token) error {
	return func(d *walker, t xml.Token) error {
		switch e := t.(type) {
		case xml.StartElement:
			return v.begin(d, e)
		case xml.EndElement:
			return v.end(e.Name.Local)
		}
		return nil
	}
}

// count keeps the depth. Names are compared without their prefix: the programs that
// write these files use the usual ones, and one of another vocabulary with the same
// name is no more than a stray word.
func (d *walker) count(t xml.Token) error {
	switch t.(type) {
	case xml.StartElement:
		d.depth++
	case xml.EndElement:
		d.depth--
	}
	if d.depth > d.limits.Depth {
		return fmt.Errorf("%w: more than %d elements within one another", ErrTooLarge, d.limits.Depth)
	}
	return nil
}

// skip reads to the end of the element that has just begun.
func (d *walker) skip() error {
	return d.within(func(xml.Token) error { return nil })
}

// within calls each for the tokens inside of the element that has just begun, and
// ends after its end.
func (d *walker) within(each func(xml.Token) error) error {
	outside := d.depth - 1
	for {
		t, err := d.RawToken()
		if err != nil {
			return ends(err)
		}
		if err := d.count(t); err != nil {
			return err
		}
		if d.depth == outside {
			return nil
		}
		err = each(t)
		if errors.Is(err, errSkip) {
			err = d.skip()
		}
		if err != nil {
			return err
		}
	}
}

// text returns what an element says, without the elements in it.
func (d *walker) text() (string, error) {
	var text []byte
	err := d.within(func(t xml.Token) error {
		if c, ok := t.(xml.CharData); ok {
			text = append(text, c...)
		}
		return nil
	})
	return string(text), err
}

// ends: a part that ends within an element is damaged.
func ends(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// relationID returns the id by which an element names another part. It has a prefix,
// and may stand beside an id without one.
func relationID(e xml.StartElement) string {
	for _, a := range e.Attr {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// attr returns an attribute by its name without a prefix, or "".
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// pieces passes bytes on as long as tags come: encoding/xml holds what is between two
// of them, and each tag, in memory at once.
type pieces struct {
	r    io.Reader
	most int
	size int // since the last "<"
}

func (p *pieces) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	for _, c := range b[:n] {
		p.size++
		if c == '<' {
			p.size = 0
		}
		if p.size > p.most {
			return 0, fmt.Errorf("%w: a piece of text in it has more than %d bytes", ErrTooLarge, p.most)
		}
	}
	return n, err
}
