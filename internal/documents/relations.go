package documents

import (
	"encoding/xml"
	"maps"
	"path"
	"slices"
	"strings"
)

// relation is one line of a list of relations: what a part has to do with another one.
type relation struct {
	kind string // the last word of its type: "notesSlide"
	part string
}

// relations returns the targets of a part by their ids: what a part calls "rId7".
// A part without relations has none.
func (a *archive) relations(part string) (map[string]relation, error) {
	return a.relationsIn(path.Join(path.Dir(part), "_rels", path.Base(part)+".rels"), path.Dir(part))
}

// relationsIn reads a list of relations of parts below dir.
func (a *archive) relationsIn(list, dir string) (map[string]relation, error) {
	found := map[string]relation{}
	if !a.has(list) {
		return found, nil
	}
	err := a.walk(list, func(_ *walker, e xml.StartElement) error {
		if e.Name.Local != "Relationship" || attr(e, "TargetMode") == "External" {
			return nil
		}
		target := attr(e, "Target")
		if !strings.HasPrefix(target, "/") {
			target = path.Join(dir, target)
		}
		kind := attr(e, "Type")
		found[attr(e, "Id")] = relation{kind[strings.LastIndexByte(kind, '/')+1:], strings.TrimPrefix(path.Clean(target), "/")}
		return nil
	})
	return found, err
}

// of returns the part of that kind, or if there is none the part that usually is one.
func of(list map[string]relation, kind, usual string) string {
	for _, id := range slices.Sorted(maps.Keys(list)) {
		if list[id].kind == kind {
			return list[id].part
		}
	}
	return usual
}

// marks are the parts by which the kinds of Microsoft's family are usually known.
var marks = []struct {
	part string
	kind Kind
}{
	{"word/document.xml", Docx},
	{"ppt/presentation.xml", Pptx},
	{"xl/workbook.xml", Xlsx},
}

const (
	openXML = "application/vnd.openxmlformats-officedocument."
	macros  = "application/vnd.ms-"
)

// mainTypes are what the list of types says of the part with which a document begins, in small
// letters: documents, templates and slide shows, and those with macros.
var mainTypes = map[string]Kind{
	openXML + "wordprocessingml.document.main+xml":           Docx,
	openXML + "wordprocessingml.template.main+xml":           Docx,
	macros + "word.document.macroenabled.main+xml":           Docx,
	macros + "word.template.macroenabledtemplate.main+xml":   Docx,
	openXML + "presentationml.presentation.main+xml":         Pptx,
	openXML + "presentationml.template.main+xml":             Pptx,
	openXML + "presentationml.slideshow.main+xml":            Pptx,
	macros + "powerpoint.presentation.macroenabled.main+xml": Pptx,
	macros + "powerpoint.template.macroenabled.main+xml":     Pptx,
	macros + "powerpoint.slideshow.macroenabled.main+xml":    Pptx,
	openXML + "spreadsheetml.sheet.main+xml":                 Xlsx,
	openXML + "spreadsheetml.template.main+xml":              Xlsx,
	macros + "excel.sheet.macroenabled.main+xml":             Xlsx,
	macros + "excel.template.macroenabled.main+xml":          Xlsx,
}

// office finds the part with which a document of Microsoft's family begins, and says of
// which kind that is; "" if it is of another family. Its name is free: some programs call
// the text of a letter word/document2.xml.
func (a *archive) office() Kind {
	first, err := a.relationsIn("_rels/.rels", "")
	if err == nil {
		a.main = of(first, "officeDocument", "")
	}
	if a.has(a.main) {
		if kind := a.typeOf(a.main); kind != "" {
			return kind
		}
	}
	for _, m := range marks { // a damaged list is no reason not to look
		if a.has(m.part) {
			a.main = m.part
			return m.kind
		}
	}
	return ""
}

// typesPart says what the parts are.
const typesPart = "[Content_Types].xml"

// typeOf says what kind of document begins with a part; "" if none, or if nothing says so.
func (a *archive) typeOf(part string) Kind {
	if !a.has(typesPart) {
		return ""
	}
	said := ""
	err := a.walk(typesPart, func(_ *walker, e xml.StartElement) error {
		switch {
		case e.Name.Local == "Override" && strings.EqualFold(attr(e, "PartName"), "/"+part):
			said = attr(e, "ContentType")
		case e.Name.Local == "Default" && said == "" && strings.EqualFold("."+attr(e, "Extension"), path.Ext(part)):
			said = attr(e, "ContentType")
		}
		return nil
	})
	if err != nil {
		return ""
	}
	return mainTypes[strings.ToLower(strings.TrimSpace(said))]
}
