package reminders

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"dragoman/heartbeat"
)

// maxShown is how many runes of a text are shown in a list.
const maxShown = 80

// promptMark begins the words of a task.
const promptMark = "(prompt) "

// say is what a reminder is, for whoever made or changed it and calls it name.
func (b *Book) say(ctx context.Context, a Asker, r reminder, name string) string {
	zone := b.zone(r.Zone)
	var text strings.Builder
	fmt.Fprintf(&text, "Reminder %s: ", name)
	if repeats := b.repeats(r); repeats != "" {
		fmt.Fprintf(&text, "%s, first ", repeats)
	}
	fmt.Fprintf(&text, "%s, %s, %s", heartbeat.InWords(r.due, zone), distance(r.due.Sub(b.o.Now())), b.place(a, r))
	if !r.Private && r.Maker.Name != "" {
		fmt.Fprintf(&text, ", for %s", r.Maker.Name)
	}
	text.WriteString(". Undo: /jobs")
	if r.Zone == "" && r.byClock() {
		text.WriteString(b.unknownZone(ctx, a, r.owner, name))
	}
	return b.o.Spell(a.Key, text.String())
}

// place is where r is delivered, for a.
func (b *Book) place(a Asker, r reminder) string {
	switch {
	case r.Key == a.Key:
		return "here"
	case r.Private && a.Private: // their own chat there
		return "on " + r.Key.Channel()
	}
	return "in " + r.Key.String()
}

// repeats is how r repeats, in words; "" if it does not.
func (b *Book) repeats(r reminder) string {
	p, err := r.When.Plan(r.From, b.zone(r.Zone))
	if err != nil {
		return ""
	}
	return p.String()
}

// words is the text or prompt of r, shortened.
func (r *reminder) words() string {
	words := r.Text
	if r.Prompt != "" {
		words = promptMark + r.Prompt
	}
	if r.broken {
		words = "(cannot be read)"
	}
	words = strings.Join(strings.Fields(words), " ")
	if shown := []rune(words); len(shown) > maxShown {
		words = string(shown[:maxShown]) + "…"
	}
	return words
}

// distance is how far ahead something is: "in 22 hours".
func distance(d time.Duration) string {
	round := func(unit time.Duration) int { return int(math.Round(float64(d) / float64(unit))) }
	n, unit := round(24*time.Hour), "day"
	switch {
	case d < time.Second/2:
		return "now"
	case d < 90*time.Second:
		n, unit = round(time.Second), "second"
	case d < 90*time.Minute:
		n, unit = round(time.Minute), "minute"
	case d < 36*time.Hour:
		n, unit = round(time.Hour), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("in %d %s", n, unit)
}

// lines are the lines of a list.
func (b *Book) lines(ctx context.Context, a Asker, list []reminder) string {
	if len(list) == 0 {
		return "There are no reminders here."
	}
	zone := b.o.Zone
	owners, err := b.owners(ctx, a)
	if err == nil {
		zone = b.ZoneOf(ctx, owners[0])
	}
	var text strings.Builder
	for _, r := range list {
		b.line(&text, a, r, nameFor(owners, r), zone)
	}
	return text.String()
}

// line writes a line of a list for somebody in zone who calls r name. A time that was said by the clock is
// shown on the clock for which it was said.
func (b *Book) line(text *strings.Builder, a Asker, r reminder, name string, zone *time.Location) {
	if r.byClock() {
		zone = b.zone(r.Zone)
	}
	fmt.Fprintf(text, "- %s: ", name)
	switch {
	case r.broken:
	case r.Paused != "":
		fmt.Fprintf(text, "paused (%s): ", r.paused())
	default:
		fmt.Fprintf(text, "%s, %s", heartbeat.InWords(r.due, zone), distance(r.due.Sub(b.o.Now())))
		if repeats := b.repeats(r); repeats != "" {
			fmt.Fprintf(text, ", %s", repeats)
		}
		if r.Key != a.Key {
			text.WriteString(", " + b.place(a, r))
		}
		text.WriteString(": ")
	}
	text.WriteString(r.words())
	if !r.Private && r.Maker.Name != "" {
		fmt.Fprintf(text, " (of %s)", r.Maker.Name)
	}
	if r.Missed > 0 {
		fmt.Fprintf(text, " (%d missed)", r.Missed)
	}
	text.WriteString("\n")
}
