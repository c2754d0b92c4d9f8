package forms

import (
	"strings"
	"time"

	"dragoman/agent"
)

// Words that are no value.
var (
	cancelWords = []string{"cancel", "/cancel", "/deny", "abbrechen", "إلغاء"}
	skipWords   = []string{"skip", "/skip", "weiter", "تخطي"}
	yesWords    = []string{"yes", "y", "true", "ok", "ja", "نعم"}
	noWords     = []string{"no", "n", "false", "nein", "لا"}
)

func isOneOf(words []string, text string) bool {
	for _, w := range words {
		if strings.EqualFold(w, strings.TrimSpace(text)) {
			return true
		}
	}
	return false
}

// IsCancel reports whether words end a form.
func IsCancel(words string) bool { return isOneOf(cancelWords, words) }

// Taken is what became of words.
type Taken struct {
	// Is: they were an answer.
	Is bool
	// Say is for whoever wrote them.
	Say string
	// Due is the item of the queue whose turn can go on now; "" if it waits on.
	Due string
}

// take changes r by what somebody has written.
func (r *record) take(words string, now time.Time) Taken {
	if IsCancel(words) {
		return r.end(agent.Declined, "Fine: "+r.Form.From+" gets no answer.")
	}
	if len(r.Form.Fields) == 0 {
		switch {
		case isOneOf(yesWords, words):
			return r.end(agent.Accepted, "Thanks. I tell "+r.Form.From+".")
		case isOneOf(noWords, words):
			return r.end(agent.Declined, "Fine: "+r.Form.From+" is told no.")
		}
		return Taken{Is: true, Say: "Please answer “yes” or “no”."}
	}
	f := r.Form.Fields[r.At]
	value, complaint := valueOf(f, words)
	if complaint != "" {
		return Taken{Is: true, Say: complaint + "\n\n" + r.ask()}
	}
	if value != nil {
		if r.Value == nil {
			r.Value = map[string]any{}
		}
		r.Value[f.Name] = value
	}
	r.At++
	if r.At < len(r.Form.Fields) {
		r.Until = now.Add(r.Until.Sub(r.Asked))
		r.Asked = now
		return Taken{Is: true, Say: r.ask()}
	}
	return r.end(agent.Accepted, "Thanks. I pass that on to "+r.Form.From+".")
}

func (r *record) end(a agent.Action, say string) Taken {
	r.Action = a
	if a != agent.Accepted {
		r.Value = nil
	}
	return Taken{Is: true, Say: say, Due: r.Item}
}
