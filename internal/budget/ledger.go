package budget

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dragoman/internal/admission"
	"dragoman/sessions"
)

// scope is whose budget it is.
type scope int

const (
	ofPerson scope = iota
	ofChat
	ofJob
	ofAll
)

// account is a budget of somebody: owner is that of its sums, or a person, who has those of
// all their identities.
type account struct {
	scope scope
	owner string
}

// everybody is the owner of sums that package usage does not have. Those of a job have the
// owner [sessions.JobScope].
const everybody = "all"

// dayForm is the form of sessions.Count.Day.
const dayForm = "20060102"

// state is what is known of an account.
type state struct {
	today string // the day that it is about
	// day and month are the sums as they were read by the newest reading, at readAt.
	day, month int64
	reading    uint64
	readAt     time.Time
	// ended is what turns that have ended here used, ever, and endedThen how much of it was
	// in the store when the sums were read.
	ended, endedThen int64
	// done is what finished calls of running turns used, and running what is reserved.
	done, running int64
	// told is the day on which its people were told last that little is left.
	told string
}

// fresh is what was used beside the sums that were read.
func (s *state) fresh() int64 { return s.ended - s.endedThen + s.done }

// ticket is what a running turn has used and reserved.
type ticket struct {
	accounts       []account
	done, reserved int64
}

// rule is the rule. It also implements [admission.Counter] and [admission.Meter].
type rule struct {
	limits Settings
	with   admission.Setup

	mu       sync.Mutex
	accounts map[account]*state
	tickets  map[string]*ticket // by turn
	readings uint64
	freed    chan struct{} // closed and replaced whenever less is reserved
}

// maxAccounts is how many accounts are kept. Beyond it, those that are idle are forgotten
// and read anew.
const maxAccounts = 10_000

// freshFor is how long sums are believed below nearly of a limit.
const freshFor = time.Second

// nearly is the share of a limit above which sums are read before each call.
const nearly = 0.8

// accountsOf returns the accounts of t that have a limit. Errors are those of the directory
// of people.
func (r *rule) accountsOf(ctx context.Context, t admission.Turn) (all []account, err error) {
	if t.Owner != "" && r.limits.Person != (Limits{}) {
		person, err := r.with.People.Person(ctx, t.Owner)
		if err != nil {
			return nil, fmt.Errorf("budget: whose is %s: %w", t.Owner, err)
		}
		all = append(all, account{ofPerson, person})
	}
	return append(all, r.othersOf(t)...), nil
}

// othersOf returns the accounts of t that are no person's and have a limit.
func (r *rule) othersOf(t admission.Turn) (all []account) {
	for _, a := range []account{{ofChat, ""}, {ofJob, ""}, {ofAll, everybody}} {
		switch a.scope {
		case ofChat:
			if !t.Key.IsZero() {
				a.owner = sessions.ChatScope(t.Key)
			}
		case ofJob:
			if t.Job != "" {
				a.owner = sessions.JobScope(t.Job)
			}
		}
		if a.owner != "" && r.limitsOf(a) != (Limits{}) {
			all = append(all, a)
		}
	}
	return all
}

func (r *rule) limitsOf(a account) Limits {
	return [...]Limits{ofPerson: r.limits.Person, ofChat: r.limits.Chat, ofJob: r.limits.Job, ofAll: r.limits.All}[a.scope]
}

// kinds are the kinds of the sums of a.
func (r *rule) kinds(a account) []string {
	own := a.scope == ofJob || a.scope == ofAll
	switch {
	case own && r.limits.Unit == Tokens:
		return []string{"spent-tokens"}
	case own:
		return []string{"spent-cost"}
	case r.limits.Unit == Tokens:
		return []string{"used-input", "used-output"}
	}
	return []string{"used-cost"}
}

// refresh reads the sums of accounts that are not known well enough; anew: all of them.
func (r *rule) refresh(ctx context.Context, accounts []account, at time.Time, anew bool) error {
	for _, a := range accounts {
		err := r.read(ctx, a, at, anew)
		if err != nil {
			return fmt.Errorf("budget: read %s: %w", a.owner, err)
		}
	}
	return nil
}

// read reads the sums of a, unless they are known and need not be read anew.
func (r *rule) read(ctx context.Context, a account, at time.Time, anew bool) error {
	local := at.In(r.with.Zone)
	today := local.Format(dayForm)
	r.mu.Lock()
	s := r.stateOf(a)
	known := !anew && s.today == today && time.Since(s.readAt) < freshFor && !r.near(a, s)
	ended := s.ended
	r.readings++
	reading := r.readings
	r.mu.Unlock()
	if known {
		return nil
	}
	began := time.Now()
	day, month, err := r.sumsOf(ctx, a, local)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.reading > reading {
		return nil // a later reading was faster
	}
	s.today = today
	s.day = day
	s.month = month
	s.reading = reading
	s.readAt = began
	s.endedThen = ended
	return nil
}

// sumsOf reads what a has used on the day of local, and in its month until then.
func (r *rule) sumsOf(ctx context.Context, a account, local time.Time) (day, month int64, err error) {
	owners := []string{a.owner}
	if a.scope == ofPerson {
		owners, err = r.with.People.Owners(ctx, a.owner)
		if err != nil {
			return 0, 0, err
		}
	}
	today := local.Format(dayForm)
	for _, owner := range owners {
		for _, kind := range r.kinds(a) {
			list, err := r.with.Sums.Sums(ctx, sessions.SumFilter{Kind: kind, Owner: owner, From: local.Format("200601") + "01", To: today})
			if err != nil {
				return 0, 0, err
			}
			for _, c := range list {
				month += c.N
				if c.Day == today {
					day += c.N
				}
			}
		}
	}
	return day, month, nil
}

// stateOf returns what is known of a. r.mu is held.
func (r *rule) stateOf(a account) *state {
	s := r.accounts[a]
	if s != nil {
		return s
	}
	if len(r.accounts) >= maxAccounts {
		for old, s := range r.accounts {
			if s.done == 0 && s.running == 0 && time.Since(s.readAt) > freshFor { // who was told is in the store
				delete(r.accounts, old)
			}
		}
	}
	s = &state{}
	r.accounts[a] = s
	return s
}

// near reports whether little of a is left. r.mu is held.
func (r *rule) near(a account, s *state) bool {
	l := r.limitsOf(a)
	used := float64(s.fresh() + s.running)
	return l.Day > 0 && used+float64(s.day) >= nearly*float64(r.limits.units(l.Day)) ||
		l.Month > 0 && used+float64(s.month) >= nearly*float64(r.limits.units(l.Month))
}

// left returns how much of a is left, of day or month, whichever is less. What is reserved
// is part of it. r.mu is held.
func (r *rule) left(a account, s *state) (left int64) {
	l := r.limitsOf(a)
	left = 1 << 62
	if l.Day > 0 {
		left = min(left, r.limits.units(l.Day)-s.day-s.fresh())
	}
	if l.Month > 0 {
		left = min(left, r.limits.units(l.Month)-s.month-s.fresh())
	}
	return left
}

// used is how much of a was used in a period. r.mu is held.
func (s *state) used(p period) int64 {
	if p == month {
		return s.month + s.fresh()
	}
	return s.day + s.fresh()
}

// exhausted returns the budget of the accounts that is used up, of several the one that is
// used up longest; nil: none is. r.mu is held.
func (r *rule) exhausted(accounts []account, at time.Time) (longest *share) {
	for _, a := range accounts {
		for _, p := range []period{day, month} {
			one := r.share(a, p)
			if one.limit <= 0 || one.used < one.limit {
				continue
			}
			if longest == nil || r.next(p, at).After(r.next(longest.period, at)) {
				longest = &one
			}
		}
	}
	return longest
}

// share is how much of one limit was used, in the units of sums. limit is 0 if there is none.
type share struct {
	account
	period
	limit, used, reserved int64
}

// share returns that of a in a period. r.mu is held.
func (r *rule) share(a account, p period) share {
	s := r.stateOf(a)
	limit := r.limitsOf(a).Day
	if p == month {
		limit = r.limitsOf(a).Month
	}
	return share{a, p, r.limits.units(limit), s.used(p), s.running}
}

// reserve reserves most for a call of t, or returns the budget of which nothing is left, or
// what to wait for. elsewhere is what other nodes have reserved.
func (r *rule) reserve(t admission.Turn, accounts []account, most int64, elsewhere map[account]int64) (*share, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	over := r.exhausted(accounts, t.At)
	if over != nil {
		return over, nil
	}
	for _, a := range accounts {
		s := r.stateOf(a)
		running := s.running + elsewhere[a]
		if running > 0 && running >= r.left(a, s) {
			return nil, r.freed
		}
	}
	k := r.tickets[t.ID]
	if k == nil {
		k = &ticket{accounts: accounts}
		r.tickets[t.ID] = k
	}
	k.reserved += most
	for _, a := range k.accounts {
		r.stateOf(a).running += most
	}
	return nil, nil
}

// Used implements [admission.Meter].
func (r *rule) Used(t admission.Turn, u sessions.Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.tickets[t.ID]
	if k == nil {
		return // from before a reload
	}
	r.release(k)
	n := r.limits.used(u)
	k.done += n
	for _, a := range k.accounts {
		r.stateOf(a).done += n
	}
}

// End implements [admission.Meter].
func (r *rule) End(t admission.Turn, counted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.tickets[t.ID]
	if k == nil {
		return
	}
	delete(r.tickets, t.ID)
	r.release(k)
	for _, a := range k.accounts {
		s := r.stateOf(a)
		s.done -= k.done
		if counted {
			s.ended += k.done
		}
	}
}

// release gives back what k has reserved. r.mu is held.
func (r *rule) release(k *ticket) {
	for _, a := range k.accounts {
		r.stateOf(a).running -= k.reserved
	}
	k.reserved = 0
	close(r.freed)
	r.freed = make(chan struct{})
}

// job is the name of the job whose account a is.
func (a account) job() string { return sessions.JobOf(a.owner) }
