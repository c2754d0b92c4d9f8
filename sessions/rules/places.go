package rules

import (
	"bytes"
	"encoding/json"
	"strings"

	"dragoman/sessions"
)

// Places are fields of others by the object that they stand in, which is named
// by the names on the way to it: "head", "waiting/17/inbound/sender",
// "summaries/20261122_001/12", and "" for the object around all of them. As in
// JSON pointers, ~1 in a name is a slash and ~0 a tilde.
type Places map[string]map[string]json.RawMessage

// PlacesIn are those in a stored object. What is none of them is rest.
func PlacesIn(stored map[string]json.RawMessage) (p Places, rest map[string]json.RawMessage) {
	p, rest = Places{}, map[string]json.RawMessage{}
	for at, raw := range stored {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil || len(fields) == 0 {
			rest[at] = raw
			continue
		}
		p[at] = fields
	}
	return p, rest
}

// Stored are places as an object to store, with clean values.
func (p Places) Stored() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for at, fields := range p {
		// Two objects nest them once more each.
		if raw, err := json.Marshal(fieldsWithin(fields, mostDepth-2)); err == nil && len(fields) > 0 { // clean ones encode
			all[Text(at)] = raw
		}
	}
	return all
}

// Under are the places inside of what is called name, as it sees them.
func (p Places) Under(name string) Places {
	inside := Places{}
	for at, fields := range p {
		if rest, ok := strings.CutPrefix(at+"/", name+"/"); ok {
			inside[strings.TrimSuffix(rest, "/")] = fields
		}
	}
	return inside
}

// Within are places as what has them under name sees them.
func (p Places) Within(name string) Places {
	outside := Places{}
	for at, fields := range p {
		outside[inside(name, at)] = fields
	}
	return outside
}

// Add adds one field.
func (p Places) Add(at, name string, value json.RawMessage) {
	if p[at] == nil {
		p[at] = map[string]json.RawMessage{}
	}
	p[at][name] = value
}

// Join adds the fields of q. Where both have one of a name, that of p goes to a
// place that no document has.
func (p Places) Join(q Places) {
	for at, fields := range q {
		for name, v := range fields {
			if old, taken := p[at][name]; taken && !bytes.Equal(old, v) {
				p.Add(inside(sessions.PlacesName, at), name, old)
			}
			p.Add(at, name, v)
		}
	}
}

func inside(at, name string) string {
	if at == "" || name == "" {
		return at + name
	}
	return at + "/" + name
}

var placeName = strings.NewReplacer("~", "~0", "/", "~1")
