package documents

import (
	"encoding/xml"
	"errors"
	"net/url"
	"path"
	"strings"

	"dragoman/internal/webpage"
)

// readEpub reads the chapters in the order of the book's spine.
func readEpub(a *archive, out *output) error {
	if a.has("META-INF/encryption.xml") && a.has("META-INF/rights.xml") {
		return ErrLocked
	}
	content := ""
	err := a.walk("META-INF/container.xml", func(_ *walker, e xml.StartElement) error {
		if e.Name.Local == "rootfile" && content == "" {
			content = attr(e, "full-path")
		}
		return nil
	})
	if err != nil {
		return err
	}
	chapters, err := spine(a, content)
	if err != nil {
		return err
	}
	for _, c := range chapters {
		if err := chapter(a, out, c); err != nil {
			return err
		}
	}
	return nil
}

// spine returns the parts of the chapters, in order.
func spine(a *archive, content string) (chapters []string, err error) {
	items := map[string]string{}
	err = a.walk(content, func(_ *walker, e xml.StartElement) error {
		switch e.Name.Local {
		case "item":
			if !strings.Contains(attr(e, "media-type"), "html") {
				return nil
			}
			name, err := url.PathUnescape(attr(e, "href"))
			if err == nil {
				items[attr(e, "id")] = path.Join(path.Dir(content), name)
			}
		case "itemref":
			part := items[attr(e, "idref")]
			if part != "" && a.has(part) {
				chapters = append(chapters, part)
			}
		}
		return nil
	})
	return chapters, err
}

// chapter writes one chapter. It is XHTML, which the reader of web pages takes.
func chapter(a *archive, out *output, part string) error {
	body, err := a.whole(part)
	if err != nil {
		return err
	}
	page := webpage.Read(&url.URL{Scheme: "epub", Path: "/" + part}, "text/html; charset=utf-8", body)
	if page.Binary != "" {
		return broken(part, errors.New(page.Binary))
	}
	out.apart()
	for line := range strings.Lines(page.Text) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			out.apart()
			continue
		}
		if err := out.whole(line); err != nil {
			return err
		}
	}
	return nil
}
