package file

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// keepPlaces is keepForeign for the fields inside of what is ours.
func keepPlaces(s *sessions.Settings, theirs rules.Places, stored map[string]json.RawMessage, untouched bool) (alone foreign) {
	if len(theirs) == 0 {
		return ""
	}
	clean, _ := rules.PlacesIn(theirs.Stored())
	before, _ := rules.PlacesIn(stored)
	kept, fresh := rules.Places{}, rules.Places{}
	for at, fields := range clean {
		for name, v := range fields {
			if bytes.Equal(rules.JSON(before[at][name]), v) {
				kept.Add(at, name, v)
			} else {
				fresh.Add(at, name, v)
			}
		}
	}
	if untouched || length(fresh.Stored()) > fieldsMost {
		alone = foreignText(fresh.Stored())
	} else {
		kept.Join(fresh)
	}
	if len(kept) == 0 {
		return alone
	}
	// What has no place in the document stands in its metadata.
	all, rest := rules.PlacesIn(rules.Foreign(*s, sessions.PlacesName))
	all.Join(kept)
	maps.Copy(rest, all.Stored())
	if !untouched {
		boundPlaces(rest, kept)
	}
	rules.SetForeign(s, sessions.PlacesName, rest)
	return alone
}

// showPlaces finds which of the fields that the settings keep by their places
// can stand there in the document as it is now. The others stay metadata.
func (d *document) showPlaces(s *sessions.Settings) {
	stored := rules.Foreign(*s, sessions.PlacesName)
	if len(stored) == 0 {
		return
	}
	kept, left := rules.PlacesIn(stored)
	// The messages are long, and have none of them.
	data, err := json.Marshal(document{documentTop: d.documentTop, documentRest: d.documentRest})
	if err != nil {
		return // encode says so
	}
	data, _ = accountShape.Put(data, d.alone.places())
	_, homeless := accountShape.Put(data, kept)
	d.places = rules.Places{}
	for at, fields := range kept {
		shown := maps.Clone(fields)
		for name := range homeless[at] {
			delete(shown, name)
		}
		if len(shown) > 0 {
			d.places[at] = shown
		}
	}
	maps.Copy(left, homeless.Stored())
	rules.SetForeign(s, sessions.PlacesName, left)
}

// places are those that f is the text of.
func (f foreign) places() rules.Places {
	var stored map[string]json.RawMessage
	if f == "" || json.Unmarshal([]byte(f), &stored) != nil {
		return nil
	}
	places, _ := rules.PlacesIn(stored)
	return places
}

// withPlaces puts the fields of others into an encoded document where they
// stood.
func (d *document) withPlaces(data []byte) ([]byte, error) {
	for _, theirs := range []rules.Places{d.alone.places(), d.places} {
		shown := rules.Places{}
		for at, fields := range theirs {
			shown[at] = maps.Clone(fields)
			for name, v := range fields {
				shown[at][name] = readable(v)
			}
		}
		data, _ = accountShape.Put(data, shown)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// boundPlaces drops the first of the fields whose place is gone as long as they
// are more than may be new in a document: others may write some for each message
// that waits.
func boundPlaces(all map[string]json.RawMessage, standing rules.Places) {
	gone := maps.Clone(all)
	maps.DeleteFunc(gone, func(at string, _ json.RawMessage) bool { return standing[at] != nil })
	for _, at := range slices.Sorted(maps.Keys(gone)) {
		if length(gone) <= fieldsMost {
			return
		}
		delete(gone, at)
		delete(all, at)
	}
}
