package heartbeat

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/internal/lazily"
)

// When says when something is due, as somebody asked for it. Exactly one of In, Every, and
// At or Repeat is set; with Repeat, At is the first time. Its JSON is stored.
type When struct {
	// At is what the clocks show, without an offset: 2026-11-29T09:00.
	At string `json:"at,omitempty"`
	// In and Every are real time: 1h30m.
	In     string `json:"in,omitempty"`
	Every  string `json:"every,omitempty"`
	Repeat *Rule  `json:"repeat,omitempty"`
}

// Order is what somebody asks to be told, or to have done, and when. Where it changes an
// earlier one, what is empty stays as it was.
type Order struct {
	// Text is delivered as it is; Prompt is answered by the model.
	Text, Prompt string
	When         When
	// Zone is the IANA name of the person's zone, if they have just said it.
	Zone string
}

// Refusal is an error that is a sentence for whoever gave an [Order].
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Limits of a When.
const (
	// MinEvery is the shortest Every.
	MinEvery = 5 * time.Minute
	maxEvery = 366 * 24 * time.Hour
	// maxAhead is how far ahead something may be due first.
	maxAhead = 10 * 366 * 24 * time.Hour
)

// Plan is a When that was checked, in a zone. It is immutable.
type Plan struct {
	when   When
	from   time.Time
	once   time.Time // of At without Repeat, and of In
	every  time.Duration
	repeat *repetition
}

// Plan checks w, which was asked for at from by somebody in zone. Errors are sentences for
// whoever wrote w, and say what time it is where that helps.
func (w When) Plan(from time.Time, zone *time.Location) (*Plan, error) {
	from = wholeSecond(from)
	p := &Plan{when: w, from: from}
	given := 0
	for _, set := range []bool{w.In != "", w.Every != "", w.At != "" || w.Repeat != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return nil, errors.New("write one of at, in, every and repeat to say when")
	}
	var err error
	switch {
	case w.Repeat != nil:
		err = p.planRepeat(zone)
	case w.At != "":
		p.once, err = planAt(w.At, from, zone)
	case w.In != "":
		var d time.Duration
		d, err = readDuration("in", w.In, time.Second, maxAhead)
		p.once = from.Add(d)
	default:
		p.every, err = readDuration("every", w.Every, MinEvery, maxEvery)
	}
	if err != nil {
		return nil, err
	}
	if first := p.Next(from); first.Sub(from) > maxAhead {
		return nil, fmt.Errorf("%s is more than ten years ahead", first.In(zone).Format(time.DateOnly))
	}
	return p, nil
}

// planRepeat reads Repeat, which begins at At if that is set.
func (p *Plan) planRepeat(zone *time.Location) error {
	rule := *p.when.Repeat
	from := p.from
	if p.when.At != "" {
		first, err := planAt(p.when.At, from, zone)
		if err != nil {
			return err
		}
		from = first.Add(-time.Second)
		if len(rule.Times) == 0 {
			rule.Times = []string{first.In(zone).Format("15:04")}
			p.when.Repeat = &rule
		}
	}
	repeat, err := rule.compile(from, zone)
	if err != nil {
		return fmt.Errorf("repeat: %w", err)
	}
	p.repeat = repeat
	return nil
}

// wallForms are the forms of At.
var wallForms = []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"}

// offset is the end of a time that says how far it is from UTC.
var offset = lazily.Compile(`:\d\d(\.\d+)?\s*(Z|z|UTC|[+-]\d\d:?\d\d)$`)

// planAt is when the clocks in zone show text.
func planAt(text string, now time.Time, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if offset.Regexp().MatchString(text) {
		return time.Time{}, fmt.Errorf("at %.40q has an offset; write what the person's clock shows, like 2026-11-29T09:00", text)
	}
	for _, form := range wallForms {
		wall, err := time.Parse(form, text)
		if parse, failed := errors.AsType[*time.ParseError](err); failed && strings.Contains(parse.Message, "day out of range") {
			return time.Time{}, fmt.Errorf("at %.40q: that month has no such day", text)
		}
		if err != nil {
			continue
		}
		due := wholeSecond(FirstShown(wall, zone))
		if !due.After(now) {
			return time.Time{}, fmt.Errorf("%s is over: it is %s now", wall.Format("2006-01-02 15:04"), InWords(now, zone))
		}
		return due, nil
	}
	return time.Time{}, fmt.Errorf("at %.40q: want a day and a time of day, like 2026-11-29T09:00", text)
}

// readDuration reads one of In and Every.
func readDuration(name, text string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s %.40q: want hours, minutes and seconds, like 1h30m; write a day as at", name, text)
	case d < least:
		return 0, fmt.Errorf("%s %s: want at least %s", name, text, least)
	case d > most:
		return 0, fmt.Errorf("%s %s: want at most %d days", name, text, int(most/(24*time.Hour)))
	}
	return d.Truncate(time.Second), nil
}

// Next is the first due time after t, in whole seconds; zero if there is none.
func (p *Plan) Next(t time.Time) time.Time {
	switch {
	case p.repeat != nil:
		due, _ := p.repeat.next(t)
		return due
	case p.every > 0:
		gone := max(t.Sub(p.from)/p.every, 0)
		return p.from.Add((gone + 1) * p.every)
	case p.once.After(t):
		return p.once
	}
	return time.Time{}
}

// Repeats reports whether p may be due more than once.
func (p *Plan) Repeats() bool { return p.every > 0 || p.repeat != nil }

// Closest is the shortest time between two of the first occurrences of p, a few dozen;
// zero if there is one at most.
func (p *Plan) Closest() (closest time.Duration) {
	due := p.Next(p.from)
	for range maxRuleTimes + 1 {
		after := p.Next(due)
		if after.IsZero() || due.IsZero() {
			break
		}
		if gap := after.Sub(due); closest == 0 || gap < closest {
			closest = gap
		}
		due = after
	}
	return closest
}

// String is how p repeats, in words: "every 2 weeks on Monday at 09:00"; "" if it does not.
func (p *Plan) String() string {
	switch {
	case p.repeat != nil:
		return p.when.Repeat.String() + p.repeat.skipped()
	case p.every > 0:
		return "every " + durationInWords(p.every)
	}
	return ""
}

// durationInWords is d in whole minutes for people: "1 hour 30 minutes".
func durationInWords(d time.Duration) string {
	if d%time.Minute != 0 {
		return shortDuration(d)
	}
	var parts []string
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"hour", time.Hour}, {"minute", time.Minute}} {
		n := d / unit.size
		d %= unit.size
		switch {
		case n == 1:
			parts = append(parts, "1 "+unit.name)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, unit.name))
		}
	}
	return strings.Join(parts, " ")
}

// shortDuration is d without parts that are zero: 1h30m.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// InWords is t for people in zone: Sunday 29 November 2026, 09:00 (Europe/Berlin).
func InWords(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	name := zone.String()
	if name == "Local" || name == "" {
		name, _ = t.Zone()
	}
	return t.Format("Monday 2 January 2006, 15:04") + " (" + name + ")"
}

// Place names a time zone as people do: " (Berlin)"; nothing if its name is unknown.
func Place(zone *time.Location) string {
	name := zone.String()
	if name == "Local" || name == "" {
		return ""
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	return " (" + strings.ReplaceAll(name, "_", " ") + ")"
}
