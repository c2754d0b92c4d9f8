package agent

import (
	"encoding/json"
	"strings"

	"dragoman/sessions"
)

// maxSameCalls is how often in a row the same call is run (requirement S2-13).
const maxSameCalls = 3

// checkRepeats looks for identical calls in a row. warn says that the last group of
// calls reached maxSameCalls or an earlier streak in it is longer: the model should
// be warned. If it was warned in this turn and a streak is still too long, stop is
// the tool's name and the turn ends. A message from a person starts the count anew,
// because they may want the call repeated.
func (r *run) checkRepeats() (stop string, warn bool) {
	group, warned := r.streaks()
	for i, s := range group {
		if s.times > maxSameCalls && warned {
			return s.name, false
		}
		warn = warn || s.times > maxSameCalls || s.times == maxSameCalls && i == len(group)-1
	}
	return "", warn
}

// streak says that the model made the same call, with the same arguments, so many
// times in a row.
type streak struct {
	name  string
	times int
}

// streaks returns one streak for each call of the newest group of the turn, or none
// if a person wrote since, and whether the model was warned before that group.
func (r *run) streaks() (group []streak, warned bool) {
	var last string
	times, noted := 0, false
	for _, m := range r.all[r.addedAt:] {
		switch {
		case m.Role != sessions.RoleUser:
		case !m.Synthetic:
			last = ""
			times = 0
			group = nil
			noted = false
		case m.Content == noteRepeat:
			noted = true
		}
		if len(m.ToolCalls) > 0 {
			group, warned = group[:0], noted
		}
		for _, c := range m.ToolCalls {
			if form := c.Name + " " + canonical(arguments(c)); form == last {
				times++
			} else {
				last, times = form, 1
			}
			inner, _ := r.meant(c)
			group = append(group, streak{inner.Name, times})
		}
	}
	return group, warned
}

// canonical rewrites JSON with sorted keys and no spaces; numbers keep their form.
// Text that is not JSON is only trimmed.
func canonical(args string) string {
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return strings.TrimSpace(args)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return strings.TrimSpace(args)
	}
	return string(text)
}
