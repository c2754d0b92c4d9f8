package budget

import (
	"context"
	"fmt"

	"dragoman/internal/admission"
	"dragoman/sessions"
)

// toldKind is the kind of the notes that say that people were told that little is left. The
// owner is that of the account, and the name is the day.
const toldKind = "budget-told"

// Tell implements [admission.Teller]: once a day, that little is left. In a shared chat it
// speaks of the chat's budget alone.
func (r *rule) Tell(ctx context.Context, t admission.Turn) admission.Notice {
	today := t.At.In(r.with.Zone).Format(dayForm)
	least := r.littleLeft(t, today)
	if least == nil {
		return admission.Notice{}
	}
	percent := least.used * 100 / least.limit
	return admission.Notice{
		Say:  fmt.Sprintf("I have used %d %% of %s. The rest is for the time until %s.", percent, r.whole(*least), r.when(ctx, t, least.period)),
		Once: &sessions.Note{Kind: toldKind, Owner: least.owner, Name: today, Due: r.next(day, t.At)},
	}
}

// toldTo is whose budget is told in the chat of t. What a person has left concerns nobody
// else.
func (r *rule) toldTo(t admission.Turn) scope {
	if t.Private && r.limits.Person != (Limits{}) {
		return ofPerson
	}
	return ofChat
}

// littleLeft returns the limit of which the least is left of those that t has used, if it is
// little and its people do not know it today; else nil.
func (r *rule) littleLeft(t admission.Turn, today string) (least *share) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.tickets[t.ID]
	if k == nil {
		return nil
	}
	for _, a := range k.accounts {
		if a.scope != r.toldTo(t) || r.stateOf(a).told == today {
			continue
		}
		for _, p := range []period{day, month} {
			one := r.share(a, p)
			little := one.limit > 0 && float64(one.used) >= nearly*float64(one.limit)
			if !little || one.used >= one.limit { // what is used up is said to the next message
				continue
			}
			if least == nil || one.part() > least.part() {
				least = &one
			}
		}
	}
	return least
}

// part is how much of s was used, where 1 is all of it.
func (s *share) part() float64 { return float64(s.used) / float64(s.limit) }

// Told implements [admission.Teller].
func (r *rule) Told(n admission.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a, s := range r.accounts {
		if a.owner == n.Once.Owner {
			s.told = n.Once.Name
		}
	}
}
