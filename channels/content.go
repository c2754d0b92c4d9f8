package channels

import (
	"encoding/binary"
	"net/http"
	"strings"
)

const (
	// ContentHead is how many bytes of a file's beginning [ContentType] looks at.
	ContentHead = 512
	// ContentTail is how many of its end, where archives list their files.
	ContentTail = 64 << 10
	// archiveName is where the name of an archive's first file begins.
	archiveName = 30
	// ownType is the name of the first file in OpenDocument files and books, which has their type.
	ownType = "mimetype"
)

// officeParts are the parts by which files of Microsoft's family are known.
var officeParts = map[string]string{
	"word/document.xml":    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"ppt/presentation.xml": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"xl/workbook.xml":      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// ContentType says what a file is by its content. Office documents and
// books are archives to everybody else: what is in them tells which. It unpacks nothing.
func ContentType(head, tail string) string {
	kind := http.DetectContentType([]byte(head))
	if kind != "application/zip" {
		return kind
	}
	if said := typeOfItsOwn(head); said != "" {
		return said
	}
	if strings.Contains(tail, "[Content_Types].xml") {
		for part, office := range officeParts {
			if strings.Contains(tail, part) {
				return office
			}
		}
	}
	return kind
}

// typeOfItsOwn is the type that the first file of an archive holds, as OpenDocument and EPUB
// want it; "" if it holds none that we know.
func typeOfItsOwn(head string) string {
	text, is := strings.CutPrefix(head[min(archiveName, len(head)):], ownType)
	if !is {
		return ""
	}
	const size = 18 // where the header has how long the file is
	n := binary.LittleEndian.Uint32([]byte(head[size:]))
	text = text[:min(uint64(n), uint64(len(text)))]
	if text == "application/epub+zip" {
		return text
	}
	rest, is := strings.CutPrefix(text, "application/vnd.oasis.opendocument.")
	if !is || rest == "" || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return ""
	}
	return text
}
