package recap

import (
	"encoding/json"
	"strconv"
	"strings"

	"dragoman/internal/lazily"
)

// Fields is a summary in the format [window.JSON]. Only Summary is always set.
type Fields struct {
	Title      string   `json:"title,omitempty"`
	Keywords   []string `json:"keywords,omitempty"`
	Summary    string   `json:"summary"`
	KeyPoints  []string `json:"key_points,omitempty"` // in order
	KeyFacts   []string `json:"key_facts,omitempty"`
	Sentiment  string   `json:"sentiment,omitempty"`  // positive, neutral or negative
	Confidence float64  `json:"confidence,omitempty"` // 0 to 10
}

// fieldsForm tells a model what to write. fieldsSchema is for servers that enforce a
// schema.
const (
	fieldsForm   = `{"title": "a few words", "keywords": ["1 to 3 words"], "summary": "what happened", "key_points": ["in order"], "key_facts": ["names, numbers, prices, dates, ids, exactly"], "sentiment": "positive, neutral or negative", "confidence": 0 to 10}`
	fieldsSchema = `{"type":"object","additionalProperties":false,"required":["title","keywords","summary","key_points","key_facts","sentiment","confidence"],"properties":{` +
		`"title":{"type":"string"},"keywords":{"type":"array","items":{"type":"string"}},"summary":{"type":"string"},` +
		`"key_points":{"type":"array","items":{"type":"string"}},"key_facts":{"type":"array","items":{"type":"string"}},` +
		`"sentiment":{"type":"string","enum":["positive","neutral","negative"]},"confidence":{"type":"number"}}}`
)

// readFields reads the object in text. Other fields than the summary may be missing;
// those of a wrong type are dropped.
func readFields(text string) (Fields, *Flaw) {
	var given map[string]any
	if json.Unmarshal([]byte(object(text, "summary")), &given) != nil {
		return Fields{}, &Flaw{"is not the JSON object that was asked for", "Answer with that object, and nothing else."}
	}
	all := make(map[string][]string, len(given))
	for name, value := range given {
		all[strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))] = texts(value)
	}
	one := func(name string) string { return strings.Join(all[name], " ") }
	f := Fields{
		Title: one("title"), Keywords: all["keywords"], Summary: one("summary"),
		KeyPoints: all["keypoints"], KeyFacts: all["keyfacts"], Sentiment: one("sentiment"),
	}
	if n, err := strconv.ParseFloat(one("confidence"), 64); err == nil && n >= 0 && n <= 10 {
		f.Confidence = n
	}
	if f.Summary == "" {
		return Fields{}, &Flaw{"has no text in its field summary", "Answer with the whole object, and write in that field what happened."}
	}
	return f, nil
}

func texts(value any) (all []string) {
	switch v := value.(type) {
	case string:
		v = strings.TrimSpace(v)
		if v != "" {
			all = append(all, v)
		}
	case float64:
		all = append(all, strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		for _, item := range v {
			all = append(all, texts(item)...)
		}
	case map[string]any:
		for _, item := range v {
			all = append(all, texts(item)...)
		}
	}
	return all
}

// Text renders f for a model to read, and for the next summary to begin with.
func (f Fields) Text() string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			b.WriteString(label + text + "\n")
		}
	}
	line("", f.Title)
	line("Keywords: ", strings.Join(f.Keywords, ", "))
	line("\n", f.Summary)
	line("\nKey points:\n- ", strings.Join(f.KeyPoints, "\n- "))
	line("\nKey facts:\n- ", strings.Join(f.KeyFacts, "\n- "))
	line("\nSentiment: ", f.Sentiment)
	if f.Confidence > 0 {
		line("Confidence: ", strconv.FormatFloat(f.Confidence, 'g', -1, 64)+" of 10")
	}
	return strings.TrimSpace(b.String())
}

// trailing matches trailing commas, and string literals, which are left alone.
var trailing = lazily.Compile(`"(?:[^"\\]|\\.)*"|,\s*([}\]])`)

// object returns the first JSON object in text that has the field, without trailing
// commas, whatever surrounds it; "" if there is none. Every object has the field "".
func object(text, field string) string {
	text = trailing.Regexp().ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == ',' {
			return s[len(s)-1:]
		}
		return s
	})
	for tries := 0; tries < 16; tries++ {
		begin := strings.IndexByte(text, '{')
		if begin < 0 {
			return ""
		}
		text = text[begin:]
		var raw json.RawMessage
		if json.NewDecoder(strings.NewReader(text)).Decode(&raw) == nil && strings.Contains(strings.ToLower(string(raw)), `"`+field) {
			return string(raw)
		}
		text = text[1:]
	}
	return ""
}
