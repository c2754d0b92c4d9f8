package agent

import (
	"encoding/json"
	"strings"

	"dragoman/sessions"
)

// maxSameCalls is how often in a row the same call is run (requirement S2-13).
const maxSameCalls = 3

// repeating tells what the last group of calls means: warn says that its last
// row of identical ones, with those before it, is long enough for a word to the
// model, or an earlier row of it too long. If that word has been said in this
// turn, a row that is too long ends it: again is what is called. What a person
// says in between begins anew: they may well want it done again.
func (r *run) repeating() (again string, warn bool) {
	rows, warned := r.rows()
	for i, row := range rows {
		if row.times > maxSameCalls && warned {
			return row.name, false
		}
		warn = warn || row.times > maxSameCalls || row.times == maxSameCalls && i == len(rows)-1
	}
	return "", warn
}

// row says that a call is the times-th identical one in a row.
type row struct {
	name  string
	times int
}

// rows returns one row for each call of the newest group of the turn, or
// nothing if a person spoke since, and whether the model was warned before it.
func (r *run) rows() (group []row, warned bool) {
	var last string
	times, noted := 0, false
	for _, m := range r.all[r.fresh:] {
		switch {
		case m.Role != sessions.RoleUser:
		case !m.Synthetic:
			last, times, group, noted = "", 0, nil, false
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
			group = append(group, row{c.Name, times})
		}
	}
	return group, warned
}

// canonical writes JSON with sorted keys and no spaces; what is no JSON stays as it
// is. Numbers stay as they are written.
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
