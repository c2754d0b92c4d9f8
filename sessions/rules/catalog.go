package rules

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"dragoman/sessions"
)

// Page is how many conversations q asks for.
func Page(q sessions.Query) int {
	if q.Limit == 0 {
		return sessions.DefaultPage
	}
	return min(max(q.Limit, 1), sessions.MaxPage)
}

// Matches reports whether c is one of those that q chooses.
func Matches(q sessions.Query, c sessions.Conversation) bool {
	switch {
	case q.Channel != "" && c.Key.Channel() != q.Channel,
		q.Tag != "" && !slices.Contains(c.Tags, q.Tag),
		!q.UpdatedAfter.IsZero() && !c.Updated.After(q.UpdatedAfter),
		!q.UpdatedBefore.IsZero() && !c.Updated.Before(q.UpdatedBefore):
		return false
	}
	for name, want := range q.Metadata {
		if v, ok := c.Metadata[name]; !ok || plainJSON(v) != want {
			return false
		}
	}
	if q.Text == "" {
		return true
	}
	text := strings.ToLower(q.Text)
	return strings.Contains(strings.ToLower(c.Key.String()), text) || strings.Contains(strings.ToLower(c.Title), text)
}

// plainJSON is how a query writes a value: a string as it is, everything else
// as JSON in its shortest form.
func plainJSON(v json.RawMessage) string {
	var s string
	if bytes.HasPrefix(v, []byte(`"`)) && json.Unmarshal(v, &s) == nil {
		return s
	}
	// Stored values hold \u003c and its like for the sake of HTML.
	var value any
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if dec.Decode(&value) != nil || enc.Encode(value) != nil {
		return string(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
