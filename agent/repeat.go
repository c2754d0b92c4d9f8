package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
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

// canonical writes JSON with sorted keys, no spaces, and one form for each
// number; what is no JSON stays as it is.
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
	if err := json.NewEncoder(&b).Encode(sameNumbers(v)); err != nil {
		return strings.TrimSpace(args)
	}
	return strings.TrimSpace(b.String())
}

// sameNumbers gives numbers that are equal one form, wherever they stand in v.
func sameNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(plainNumber(string(v)))
	case []any:
		for i := range v {
			v[i] = sameNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = sameNumbers(v[k])
		}
	}
	return v
}

// plainNumber writes a JSON number as digits without zeros at their ends and a
// power of ten. It computes with the exponent alone, because 1e999999999 is a
// number too.
func plainNumber(s string) string {
	digits, power, _ := strings.Cut(strings.ToLower(s), "e")
	exponent := 0
	if power != "" {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil || exponent > 1<<60 || exponent < -1<<60 {
			return s
		}
	}
	digits, negative := strings.CutPrefix(digits, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if short == "" {
		return "0"
	}
	if negative {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent)
}
