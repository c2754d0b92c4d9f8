package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// Searcher finds messages in the full transcript of one conversation. The store is
// one.
type Searcher interface {
	// Lookup finds messages of k by words in their content.
	Lookup(ctx context.Context, k channels.Key, l sessions.Lookup) (sessions.Hits, error)
	// History is used to find what a summary covers.
	History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error)
}

// Limits of search_history.
const (
	maxFound     = 30
	excerptRunes = 400
)

type searchArgs struct {
	Query  string `json:"query" jsonschema:"Words to look for; messages with all of them come first"`
	Limit  number `json:"limit,omitempty" jsonschema:"Most messages to return, up to 30; default 8"`
	Before number `json:"before,omitempty" jsonschema:"Only messages before the one with this number"`
}

// SearchHistory is the tool search_history: it searches everything that was said in
// the current conversation, including before a summary or a /new. Most results are
// messages that the model no longer sees, and some are from the oldest of these,
// because a fact is said once and asked about many times. The result says how many
// more matches there are and how to read them.
func SearchHistory(s Searcher) agent.Tool {
	return newReader(sessions.HistoryTool, "Search everything that was ever said in this conversation, also what is no longer in view.", func(ctx context.Context, c agent.Call, args searchArgs) (string, error) {
		query := strings.TrimSpace(args.Query)
		switch {
		case query == "":
			return "", errors.New("the query is empty")
		case len(query) > maxFact:
			return "", fmt.Errorf("the query has %d bytes; use a few words", len(query))
		case args.Before < 0:
			return "", errors.New("before is the number of a message")
		case c.Key.IsZero():
			return "", errors.New("there is no history outside of a conversation")
		}
		w := &historySearch{Searcher: s, key: c.Key, query: query}
		if err := w.search(ctx, int64(args.Before), args.Limit.clamp(8, maxFound)); err != nil {
			return "", storeFailed(ctx, err)
		}
		switch {
		case w.out.Len() > 0:
			return w.out.String(), nil
		case args.Before > 0:
			return fmt.Sprintf("[nothing was found before message %d]", args.Before), nil
		}
		return "[nothing was found in this conversation]", nil
	})
}
