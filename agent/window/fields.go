package window

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Fields are a summary in the format [JSON].
type Fields struct {
	Title      string   `json:"title"`
	Keywords   []string `json:"keywords"` // 1 to 3
	Summary    string   `json:"summary"`
	KeyPoints  []string `json:"key_points"` // in order
	KeyFacts   []string `json:"key_facts"`
	Sentiment  string   `json:"sentiment"`  // positive, neutral or negative
	Confidence float64  `json:"confidence"` // 0 to 10
}

// FieldsSchema tells a model what to write.
const FieldsSchema = `{"title": "a few words", "keywords": ["1 to 3 words"], "summary": "what happened", "key_points": ["in order"], "key_facts": ["names, numbers, prices, dates, ids, exactly"], "sentiment": "positive, neutral or negative", "confidence": 0 to 10}`

// ParseFields reads what a model wrote: one JSON object with all fields and no
// others, bare or in one code fence. Everything else is an error, which shows
// nothing of the text.
func ParseFields(text string) (Fields, error) {
	var given struct {
		Title      *string   `json:"title"`
		Keywords   *[]string `json:"keywords"`
		Summary    *string   `json:"summary"`
		KeyPoints  *[]string `json:"key_points"`
		KeyFacts   *[]string `json:"key_facts"`
		Sentiment  *string   `json:"sentiment"`
		Confidence *float64  `json:"confidence"`
	}
	dec := json.NewDecoder(strings.NewReader(unfence(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&given); err != nil {
		return Fields{}, errors.New("window: the summary is not the JSON object that was asked for")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Fields{}, errors.New("window: something follows the JSON object of the summary")
	}
	missing := ""
	for _, f := range []struct {
		name  string
		there bool
	}{
		{"title", given.Title != nil},
		{"keywords", given.Keywords != nil},
		{"summary", given.Summary != nil},
		{"key_points", given.KeyPoints != nil},
		{"key_facts", given.KeyFacts != nil},
		{"sentiment", given.Sentiment != nil},
		{"confidence", given.Confidence != nil},
	} {
		if !f.there && missing == "" {
			missing = f.name
		}
	}
	if missing != "" {
		return Fields{}, fmt.Errorf("window: the summary has no %s", missing)
	}
	f := Fields{
		*given.Title, *given.Keywords, *given.Summary, *given.KeyPoints, *given.KeyFacts, *given.Sentiment, *given.Confidence,
	}
	return f, f.check()
}

func (f Fields) check() error {
	switch {
	case blank(f.Title):
		return errors.New("window: the summary's title is empty")
	case blank(f.Summary):
		return errors.New("window: the summary's summary is empty")
	case len(f.Keywords) < 1 || len(f.Keywords) > 3:
		return fmt.Errorf("window: the summary has %d keywords, not 1 to 3", len(f.Keywords))
	case slices.ContainsFunc(slices.Concat(f.Keywords, f.KeyPoints, f.KeyFacts), blank):
		return errors.New("window: a keyword, point or fact of the summary is empty")
	case f.Sentiment != "positive" && f.Sentiment != "neutral" && f.Sentiment != "negative":
		return errors.New("window: the summary's sentiment is not positive, neutral or negative")
	case f.Confidence < 0 || f.Confidence > 10:
		return errors.New("window: the summary's confidence is not between 0 and 10")
	default:
		return nil
	}
}

// Text is f for a model to read, and for the next summary to begin with.
func (f Fields) Text() string {
	var b strings.Builder
	b.WriteString(f.Title + "\nKeywords: " + strings.Join(f.Keywords, ", ") + "\n\n" + f.Summary + "\n")
	if len(f.KeyPoints) > 0 {
		b.WriteString("\nKey points:\n")
		for i, p := range f.KeyPoints {
			b.WriteString(strconv.Itoa(i+1) + ". " + p + "\n")
		}
	}
	if len(f.KeyFacts) > 0 {
		b.WriteString("\nKey facts:\n")
		for _, k := range f.KeyFacts {
			b.WriteString("- " + k + "\n")
		}
	}
	b.WriteString("\nSentiment: " + f.Sentiment + "; confidence: " + strconv.FormatFloat(f.Confidence, 'g', -1, 64) + " of 10")
	return b.String()
}

// unfence takes a text out of the one code fence around it, if there is one.
func unfence(s string) string {
	s = strings.TrimSpace(s)
	inner, opened := strings.CutPrefix(s, "```")
	inner, closed := strings.CutSuffix(inner, "```")
	if !opened || !closed {
		return s
	}
	if tag, rest, found := strings.Cut(inner, "\n"); found && !strings.Contains(tag, "{") {
		return rest
	}
	return inner
}
