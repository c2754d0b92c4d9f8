package budget

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/internal/admission"
)

// Warnings implements [admission.Warner]: once a day each, that little or nothing is left for
// everybody together, or for a job. Nobody's chat would tell it: a person cannot know what
// others used, and a job that writes rarely says it late.
func (r *rule) Warnings(ctx context.Context, at time.Time) (all []admission.Warning, err error) {
	if r.limits.Job == (Limits{}) && r.limits.All == (Limits{}) {
		return nil, nil
	}
	used, err := r.allOf(ctx, r.kinds(account{scope: ofAll}), at)
	if err != nil {
		return nil, err
	}
	for _, s := range r.shares(used) {
		if s.part() >= nearly {
			all = append(all, r.warning(ctx, s, at))
		}
	}
	slices.SortFunc(all, func(a, b admission.Warning) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// warning says how much of s was used.
func (r *rule) warning(ctx context.Context, s share, at time.Time) admission.Warning {
	of := r.whole(s)
	then := "it is skipped"
	if s.scope == ofAll {
		then = "I answer nobody"
	}
	until := r.when(ctx, admission.Turn{At: at}, s.period)
	level := "spent"
	say := fmt.Sprintf("I have used %s. Until %s %s.", of, until, then)
	if s.used < s.limit {
		level = "little"
		say = fmt.Sprintf("I have used %d %% of %s. The rest is for the time until %s.", s.used*100/s.limit, of, until)
	}
	id := []string{"budget", s.owner, periodNames[s.period], level, at.In(r.with.Zone).Format(dayForm)}
	return admission.Warning{ID: strings.Join(id, " "), Say: say}
}
