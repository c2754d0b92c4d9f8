package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// historySearch is one call of search_history. It writes the result as it finds
// it.
type historySearch struct {
	Searcher
	call  agent.Call
	key   channels.Key
	query string
	out   strings.Builder
}

// found is what one part of the history has for a query: the newest matches, the
// oldest ones, and how many there are.
type found struct {
	newest, oldest []sessions.Message // no message is in both
	all, some      int
}

// search writes the matches before the given message. If that is 0, it writes the
// matches that a summary or a /new took out of view, then the later ones. The model
// already sees the later ones, so they get more than a quarter of the places only if
// the others leave room.
func (w *historySearch) search(ctx context.Context, before int64, limit int) error {
	if before > 0 {
		f, err := w.newest(ctx, sessions.Lookup{Before: before, Limit: limit})
		w.write(f)
		return err
	}
	border, err := w.border(ctx)
	if err != nil {
		return err
	}
	var old found
	if border > 0 {
		if old, err = w.newest(ctx, sessions.Lookup{Before: border + 1, Limit: limit}); err != nil {
			return err
		}
	}
	seen, err := w.newest(ctx, sessions.Lookup{After: border, Limit: max(limit-len(old.newest), limit/4)})
	if err != nil {
		return err
	}
	old.cut(limit - len(seen.newest))
	for _, part := range []struct {
		found *found
		where sessions.Lookup
	}{{&old, sessions.Lookup{Before: border + 1}}, {&seen, sessions.Lookup{After: border}}} {
		if err := w.addOldest(ctx, part.found, part.where); err != nil {
			return err
		}
		w.write(*part.found)
	}
	return nil
}

// border returns the seq of the last message that is out of view, because a summary
// covers it or it is in an earlier generation.
func (w *historySearch) border(ctx context.Context) (int64, error) {
	h, err := w.History(ctx, w.key, sessions.HistoryLimit{Messages: 1})
	if err != nil {
		return 0, err
	}
	border := max(h.FirstSeq-1, 0)
	if h.Summary != nil {
		border = max(border, h.Summary.CoversSeq)
	}
	return border, nil
}

// lookupLimit is how many messages are looked up, so that a text that is repeated
// often, above all a question, leaves room for others.
const lookupLimit = 100

// newest returns the best matches of a part, newer ones first, without repeated
// texts.
func (w *historySearch) newest(ctx context.Context, l sessions.Lookup) (found, error) {
	places := l.Limit
	l.Query, l.Limit = w.query, max(places, lookupLimit)
	hits, err := w.Lookup(ctx, w.key, l)
	f := found{all: hits.All, some: hits.Some}
	said := make(map[string]bool)
	for i, m := range hits.Messages {
		switch {
		case !said[m.Content]:
			said[m.Content] = true
			f.newest = append(f.newest, m)
		case i < hits.All:
			f.all--
		default:
			f.some--
		}
	}
	f.cut(places)
	return f, err
}

func (f *found) cut(most int) { f.newest = f.newest[:min(most, len(f.newest))] }

// addOldest gives the last quarter of the places to the oldest messages with all
// words, if there are more of those than places.
func (w *historySearch) addOldest(ctx context.Context, f *found, l sessions.Lookup) error {
	places := len(f.newest) / 4
	if f.all <= len(f.newest) || places == 0 {
		return nil
	}
	l.Query = w.query
	l.Oldest = true
	l.Limit = places
	hits, err := w.Lookup(ctx, w.key, l)
	if err != nil {
		return err
	}
	f.cut(len(f.newest) - places)
	f.oldest = slices.DeleteFunc(hits.Messages, func(m sessions.Message) bool {
		return slices.ContainsFunc(f.newest, func(n sessions.Message) bool { return n.Content == m.Content })
	})
	return nil
}

// write adds the messages of a part, and between the newest and the oldest how to
// read the others.
func (w *historySearch) write(f found) {
	w.list(f.newest)
	shown := len(f.newest) + len(f.oldest)
	switch {
	case shown == 0: // they were deleted meanwhile
	case f.all > shown:
		fmt.Fprintf(&w.out, "[%s with all of these words: search again with \"before\": %d to read on]\n", more(f.all-shown, f.all), f.newest[len(f.newest)-1].Seq)
	case f.all+f.some > shown:
		fmt.Fprintf(&w.out, "[%s with only some of these words: search for fewer words to read them]\n", more(f.all+f.some-shown, f.some))
	}
	w.list(f.oldest)
}

// more says that n messages were not shown. The store stops counting at
// [sessions.MostCounted].
func more(n, counted int) string {
	switch {
	case counted >= sessions.MostCounted:
		return fmt.Sprintf("%d more messages, or still more,", n)
	case n == 1:
		return "1 more message"
	}
	return fmt.Sprintf("%d more messages", n)
}

func (w *historySearch) list(messages []sessions.Message) {
	for _, m := range messages {
		w.call.MarkMessage(&m)
		// People choose their names: a line break must not look like the next message.
		speaker := strings.Join(strings.Fields(string(m.Role)+" "+m.Name), " ")
		fmt.Fprintf(&w.out, "[message %d, %s, %s] %s\n", m.Seq, m.At.UTC().Format("2006-01-02 15:04 UTC"), speaker, excerpt(m.Content, w.query, excerptRunes))
	}
}

// excerpt returns the part of text with the most words of query, at most most runes,
// on one line.
func excerpt(text, query string, most int) string {
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if len(runes) <= most {
		return string(runes)
	}
	begin := min(densest(runes, query, most), len(runes)-most)
	out := string(runes[begin : begin+most])
	if begin > 0 {
		out = "…" + out
	}
	if begin+most < len(runes) {
		out += "…"
	}
	return out
}

// densest returns the start of the part of text with the most words of query. Parts
// have size runes and overlap by half; the first of several wins.
func densest(text []rune, query string, size int) (begin int) {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	words, most := slices.Compact(words), 0
	for at := 0; at < len(text); at += size / 2 {
		part, n := strings.ToLower(string(text[at:min(at+size, len(text))])), 0
		for _, word := range words {
			if strings.Contains(part, word) {
				n++
			}
		}
		if n > most {
			begin, most = at, n
		}
	}
	return begin
}

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

// searchArgs are the arguments of search_history.
type searchArgs struct {
	Query  string `json:"query" jsonschema:"Words to look for"`
	Limit  number `json:"limit,omitempty" jsonschema:"Most messages, up to 30; default 8"`
	Before number `json:"before,omitempty" jsonschema:"Only before the message with this number"`
}

var _ = builtin(func(n Needs) agent.Tool { return SearchHistory(n.Archive) })

// SearchHistory is the tool search_history: it searches everything that was said in
// the current conversation, including before a summary or a /new. Most results are
// messages that the model no longer sees, and some are from the oldest of these,
// because a fact is said once and asked about many times. The result says how many
// more matches there are and how to read them.
func SearchHistory(s Searcher) agent.Tool {
	return newReader(agent.Spec{
		Name:        "search_history",
		Description: "Search everything that was ever said in this conversation, also what is no longer in view.",
		Origin:      sessions.OriginHistory, // and what is marked below
		Keep:        40,
		Chat:        true,
		Finds:       true,
	}, func(ctx context.Context, c agent.Call, args searchArgs) (string, error) {
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
		w := &historySearch{Searcher: s, call: c, key: c.Key, query: query}
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
