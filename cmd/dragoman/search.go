package main

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dragoman/internal/api"
	"dragoman/sessions"
)

// sessionsSearchCmd is "dragoman sessions search": it finds messages in all
// conversations.
type sessionsSearchCmd struct {
	Query []string `arg:"" help:"Words to look for."`
	Key   string   `placeholder:"KEY" help:"Only in this conversation."`
	From  string   `placeholder:"TIME" help:"Only what was said since this day or time."`
	To    string   `placeholder:"TIME" help:"Only what was said until this time; a day counts to its end."`
	Limit int      `default:"20" help:"How many messages (${default})."`
	After string   `placeholder:"CURSOR" help:"Continue after a page, with the cursor that it printed."`
	jsonFlag
}

func (k *sessionsSearchCmd) search(e *env) (s api.Search, err error) {
	s = api.Search{Query: strings.Join(k.Query, " "), After: k.After}
	if strings.TrimSpace(s.Query) == "" {
		return s, &usageError{"write the words to look for"}
	}
	if k.Limit < 1 || k.Limit > 1000 {
		return s, &usageError{"--limit wants 1 to 1000"}
	}
	if k.Key != "" {
		if s.Key, err = e.parseKey(k.Key); err != nil {
			return s, err
		}
	}
	if s.From, err = timeFlag("--from", k.From, false); err != nil {
		return s, err
	}
	if s.To, err = timeFlag("--to", k.To, true); err != nil {
		return s, err
	}
	if k.After != "" {
		if _, err := sessions.ParseFoundCursor(k.After); err != nil {
			return s, &usageError{"--after wants the cursor that the previous page printed at its end"}
		}
	}
	return s, nil
}

func (k *sessionsSearchCmd) Run(e *env, c *cli) error {
	search, err := k.search(e)
	if err != nil {
		return err
	}
	part := func(after string, limit int) api.Search {
		one := search
		one.After = cmp.Or(after, search.After)
		one.Limit = limit
		return one
	}
	return listAll(e, c, k.JSON, api.SearchAll, k.Limit, part, func(found api.Page[api.Hit]) {
		if len(found.Data) == 0 {
			e.say("%s", nothingFound(search))
			return
		}
		for _, f := range found.Data {
			e.say("%s  %s  %s  message %d%s", oneLine(f.Key.String()), f.Message.At.Local().Format("2006-01-02 15:04"), oneLine(speaker(f.Message)), f.Message.Seq, replacedMark(f.Message))
			e.say("    %s", around(f.Message.Content, k.Query, e.lineWidth()-4))
		}
		if found.Next != "" {
			e.say("(there may be more: --after %s)", found.Next)
		}
	})
}

func nothingFound(s api.Search) string {
	switch {
	case s.After != "":
		return "No more messages match."
	case !s.From.IsZero() || !s.To.IsZero():
		return "No message from that time contains " + oneLine(s.Query) + "."
	}
	return "No message contains " + oneLine(s.Query) + "."
}

func (e *env) lineWidth() int {
	if e.width > 20 {
		return e.width
	}
	return 80
}

// around returns the part of text around the first of the words, in one line.
func around(text string, words []string, width int) string {
	line := oneLine(text)
	if columns(line) <= width {
		return line
	}
	var each []string
	for _, w := range words {
		w = oneLine(w)
		if w != "" {
			each = append(each, regexp.QuoteMeta(w))
		}
	}
	at := 0
	if found := regexp.MustCompile("(?i)" + strings.Join(each, "|")).FindStringIndex(line); found != nil {
		at = found[0]
	}
	if at > width/2 {
		start := at - width/3
		if i := strings.IndexByte(line[start:at], ' '); i >= 0 {
			start += i + 1
		}
		line = "…" + strings.ToValidUTF8(line[start:], "")
	}
	return fit(line, width)
}

// timeForms are how people write a time; the first names a whole day.
var timeForms = []string{
	time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.DateTime,
	time.RFC3339Nano, "2006-01-02T15:04Z07:00",
}

const timeExamples = "2026-11-01, 2026-11-01T10:00 or 2026-11-01T10:00:00+01:00"

// parseTime reads a time, in the local zone if it names none. A day without a
// time begins at midnight, and next is the midnight after it; otherwise next
// equals at.
func parseTime(s string) (at, next time.Time, known bool) {
	for i, form := range timeForms {
		at, err := time.ParseInLocation(form, s, time.Local)
		if err != nil || at.Year() < 1 {
			continue
		}
		if i == 0 {
			return at, at.AddDate(0, 0, 1), true
		}
		return at, at, true
	}
	return at, next, false
}

// timeFlag reads the value of a flag, "" as the zero time. last asks for the end
// of a day.
func timeFlag(name, value string, last bool) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, next, known := parseTime(value)
	if !known {
		return at, &usageError{name + " wants a time like " + timeExamples}
	}
	if last {
		return next, nil
	}
	return at, nil
}

// borderFlag reads the number of a message or a time, and returns it in the form
// of api.Part.
func borderFlag(name, value string) (string, error) {
	if n, err := strconv.ParseInt(value, 10, 64); value == "" || err == nil && n >= 0 {
		return value, nil
	}
	at, _, known := parseTime(value)
	if !known {
		return "", &usageError{name + " wants the number of a message, or a time like " + timeExamples}
	}
	return at.Format(time.RFC3339Nano), nil
}
