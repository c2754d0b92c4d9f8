package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"dragoman/sessions"
)

// maxSameCalls is how often in a row the same call is run.
const maxSameCalls = 3

// repeating tells of the last group of calls how long its longest row of
// identical ones is, with those before it, and what is called. A row that
// ended inside the group counts only if it was too long. What a person says
// in between begins anew: they may well want it done again.
func (r *run) repeating() (name string, times int) {
	rows := r.rows()
	if len(rows) == 0 {
		return "", 0
	}
	for _, row := range rows {
		if row.times > maxSameCalls {
			return row.name, row.times
		}
	}
	last := rows[len(rows)-1]
	return last.name, last.times
}

// row says that a call is the times-th identical one in a row.
type row struct {
	name  string
	times int
}

// rows returns one row for each call of the newest group of the turn, or
// nothing if a person spoke since.
func (r *run) rows() []row {
	var group []row
	var last string
	times := 0
	for _, m := range r.all[r.fresh:] {
		if m.Role == sessions.RoleUser && !m.Synthetic {
			last, times, group = "", 0, nil
		}
		if len(m.ToolCalls) > 0 {
			group = group[:0]
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
	return group
}

// canonical writes JSON with sorted keys and no spaces; what is no JSON stays
// as it is.
func canonical(args string) string {
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return strings.TrimSpace(args)
	}
	if _, err := d.Token(); err != io.EOF {
		return strings.TrimSpace(args)
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		return strings.TrimSpace(args)
	}
	return strings.TrimSpace(b.String())
}
