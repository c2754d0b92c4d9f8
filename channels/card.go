package channels

import (
	"slices"
	"strings"
)

// maxCardFields bounds what is taken from one contact card.
const maxCardFields = 12

// cardFields are the fields of a contact card that say something to a person.
var cardFields = []string{"TEL", "EMAIL", "ORG", "TITLE", "ADR", "URL", "BDAY", "NOTE"}

// CardFields returns what a contact card in the vCard format holds besides the name: numbers,
// addresses, the firm, each once, at most 12. It never fails: a line that it does not
// understand is left out.
func CardFields(vcard string) []string {
	// A line that begins with a space continues the one before.
	vcard = strings.NewReplacer("\r\n ", "", "\n ", "", "\r\n\t", "", "\n\t", "").Replace(vcard)
	var fields []string
	for line := range strings.Lines(vcard) {
		name, value, found := strings.Cut(strings.TrimSpace(line), ":")
		name, _, _ = strings.Cut(name, ";")
		if _, after, grouped := strings.Cut(name, "."); grouped {
			name = after
		}
		if !found || !slices.Contains(cardFields, strings.ToUpper(name)) {
			continue
		}
		value = strings.NewReplacer(`\n`, " ", `\N`, " ", `\,`, ",", `\;`, ";", `\\`, `\`, ";", " ").Replace(strings.TrimPrefix(value, "tel:"))
		value = strings.Join(strings.Fields(value), " ")
		if value != "" && !slices.Contains(fields, value) && len(fields) < maxCardFields {
			fields = append(fields, value)
		}
	}
	return fields
}
