package agent

import (
	"cmp"
	"slices"
	"strings"

	"dragoman/sessions"
)

// taintOf is the taint of a request that shows view: of what it shows, not of all that was
// ever said.
func (r *run) taintOf(view []sessions.Message) (t sessions.Taint) {
	who := r.speaker()
	t.Add(r.t.KnownOrigins...)
	for i := range r.offer.specs {
		if s := &r.offer.specs[i]; s.Foreign {
			t.Add(s.Origin)
		}
	}
	if s := r.t.History.Summary; s != nil && strings.TrimSpace(s.Text) != "" {
		t.Merge(s.Taint())
		if who.shared {
			t.Add(sessions.OriginOthers) // it does not say who said what
		}
	}
	for i := range view {
		m := &view[i]
		t.AddMessage(m)
		if who.isOther(m) {
			t.Add(sessions.OriginOthers)
		}
	}
	return t
}

// speaker is the person whom the turn answers.
func (r *run) speaker() speaker {
	return speaker{r.person, !r.t.Private && r.t.Given == nil}
}

// seen is what the model had seen when it made the open calls. It is more than the request
// showed, where that left out old messages: a person's words remain theirs.
// A task knows what its turn has seen, so an address that the person wrote stays theirs.
func (r *run) seen() Seen {
	all := r.all
	if r.in != nil {
		all = slices.Concat(r.in.run.all, all)
	}
	return Seen{all, r.speaker()}
}

// resultOrigins are whose words the result of a tool is. of is [Spec.Origin], and found what
// the tool marked.
func resultOrigins(of sessions.Origin, found sessions.Taint) []sessions.Origin {
	of = cmp.Or(of, sessions.OriginOthers)
	all := found.List()
	if slices.Contains(all, of) || of == sessions.OriginModel && len(all) > 0 {
		return all
	}
	return append([]sessions.Origin{of}, all...)
}
