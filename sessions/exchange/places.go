package exchange

import (
	"encoding/json"
	"maps"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// ourParts are the objects and lists beside the messages that our documents have,
// what is ours in them, and where the documents of a store have the same.
var ourParts = map[string]struct {
	shape *rules.Shape
	at    string
}{
	"settings":    {rules.ShapeOf[sessions.Settings](), "head/conversation/settings"},
	"generations": {rules.ShapeOfList[sessions.Generation]("generations"), "head/conversation/generations"},
	"summaries":   {rules.ShapeOfList[sessions.Summary]("summaries"), "summaries"},
}

// takeOurs moves what is ours in one of the parts to into, and returns what
// others put there. What does not look like ours stays in the set.
func (f fieldSet) takeOurs(name string, into any) rules.Places {
	raw, part := f[name], ourParts[name]
	ours, theirs := part.shape.Split(raw)
	if raw == nil || len(theirs) > 0 && !part.shape.Fits(raw) || json.Unmarshal(ours, into) != nil {
		return rules.Places{}
	}
	delete(f, name)
	return theirs.Within(part.at)
}

// keepPlaces adds what others put into the parts to what settings have of it.
func keepPlaces(s *sessions.Settings, theirs rules.Places) {
	if len(theirs) == 0 {
		return
	}
	all, rest := rules.PlacesIn(rules.Foreign(*s, sessions.PlacesName))
	all.Join(theirs)
	maps.Copy(rest, all.Stored())
	rules.SetForeign(s, sessions.PlacesName, rest)
}

// placedParts are the parts of a document with what others put there.
type placedParts struct {
	settings   sessions.Settings // without what stands elsewhere
	inSettings bool              // something stands in them
	places     rules.Places
}

// showPlaces finds what of the places in the settings of h has one in its
// document.
func showPlaces(h *sessions.ConversationRecord) placedParts {
	s := placedParts{settings: h.Settings}
	rules.SetForeign(&s.settings, FieldsName, nil)
	kept, left := rules.PlacesIn(rules.Foreign(h.Settings, sessions.PlacesName))
	s.places = kept
	if len(kept) == 0 {
		return s
	}
	elsewhere := maps.Clone(kept)
	for name, value := range map[string]any{"settings": s.settings, "generations": h.Generations, "summaries": h.Summaries} {
		raw, err := json.Marshal(value)
		if err != nil {
			continue // the writer says so
		}
		part := ourParts[name]
		inside := kept.Under(part.at)
		_, homeless := part.shape.Put(raw, inside)
		for at := range inside.Within(part.at) {
			delete(elsewhere, at)
		}
		s.inSettings = s.inSettings || name == "settings" && len(inside) > len(homeless)
		elsewhere.Join(homeless.Within(part.at))
	}
	maps.Copy(left, elsewhere.Stored())
	rules.SetForeign(&s.settings, sessions.PlacesName, left)
	return s
}

// as is value, the part called name, with what others put there.
func (s placedParts) as(name string, value any) any {
	part := ourParts[name]
	inside := s.places.Under(part.at)
	if len(inside) == 0 {
		return value
	}
	raw, err := encode(value)
	if err != nil {
		return value // the writer says so
	}
	with, _ := part.shape.Put(raw, inside)
	return json.RawMessage(with)
}
