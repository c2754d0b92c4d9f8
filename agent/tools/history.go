package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// Searcher finds messages in the full transcript of one conversation.
// [sessions.Archive] is one.
type Searcher interface {
	// Search finds messages of k by words in their content, best first.
	Search(ctx context.Context, k channels.Key, query string, limit int) ([]sessions.Message, error)
}

// Bounds of search_history.
const (
	mostFound    = 30
	excerptRunes = 400
)

type searchArgs struct {
	Query string `json:"query"`
	Limit number `json:"limit"`
}

// SearchHistory is the tool search_history: it looks through everything that
// was said in the current conversation, also before a summary or a /new.
func SearchHistory(s Searcher) agent.Tool {
	return &tool[searchArgs]{
		spec: agent.Spec{
			Name:        "search_history",
			Description: "Search everything that was ever said in this conversation, also what is no longer in view.",
			Parameters: json.RawMessage(`{
				"type": "object",
				"properties": {
					"query": {"type": "string", "description": "Words to look for"},
					"limit": {"type": "integer", "minimum": 1, "maximum": 30, "description": "Most messages to return; default 8"}
				},
				"required": ["query"],
				"additionalProperties": false
			}`),
			Parallel:   true,
			Repeatable: true,
		},
		run: func(ctx context.Context, c agent.Call, args searchArgs) (string, error) {
			query := strings.TrimSpace(args.Query)
			switch {
			case query == "":
				return "", errors.New("the query is empty")
			case len(query) > maxFact:
				return "", fmt.Errorf("the query has %d bytes; use a few words", len(query))
			case c.Key.IsZero():
				return "", errors.New("there is no history outside of a conversation")
			}
			limit := args.Limit.within(8, mostFound)
			found, err := s.Search(ctx, c.Key, query, limit)
			if err != nil {
				return "", storeFailed(ctx, err)
			}
			if len(found) == 0 {
				return "[nothing was found in this conversation]", nil
			}
			var b strings.Builder
			for _, m := range found[:min(limit, len(found))] {
				fmt.Fprintf(&b, "[message %d, %s, %s] %s\n", m.Seq, m.At.UTC().Format("2006-01-02 15:04 UTC"), speaker(m), excerpt(m.Content, query, excerptRunes))
			}
			return b.String(), nil
		},
	}
}

// speaker names who wrote m. People choose their names, so a line break in
// one may not look like the next message.
func speaker(m sessions.Message) string {
	name := strings.Join(strings.Fields(m.Name), " ")
	return strings.TrimSpace(string(m.Role) + " " + name)
}

// excerpt is the part of text around the first word of query that it has, at
// most most runes, on one line.
func excerpt(text, query string, most int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	begin := max(0, min(findWord(runes, query)-most/4, len(runes)-most))
	out := string(runes[begin : begin+most])
	if begin > 0 {
		out = "…" + out
	}
	if begin+most < len(runes) {
		out += "…"
	}
	return out
}

// findWord is where the first word of query stands in text, folded; 0 if
// nowhere. Folding rune by rune keeps the positions of both the same.
func findWord(text []rune, query string) int {
	folded := make([]rune, len(text))
	for i, r := range text {
		folded[i] = unicode.ToLower(r)
	}
	hay := string(folded)
	for word := range strings.FieldsFuncSeq(query, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		needle := strings.Map(unicode.ToLower, word)
		if i := strings.Index(hay, needle); i >= 0 {
			return utf8.RuneCountInString(hay[:i])
		}
	}
	return 0
}
