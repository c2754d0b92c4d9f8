package budget_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/budget"
	"dragoman/sessions"
)

// book is a store's sums, which several rules may read as several nodes do.
type book struct {
	mu    sync.Mutex
	all   []sessions.Count
	reads int
}

func (b *book) add(list ...sessions.Count) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, list...)
}

func (b *book) Sums(_ context.Context, f sessions.SumFilter) (list []sessions.Count, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	for _, c := range b.all {
		if c.Kind == f.Kind && (f.Owner == "" || c.Owner == f.Owner) && c.Day >= f.From && c.Day <= f.To {
			list = append(list, c)
		}
	}
	return list, nil
}

func (b *book) Sum(ctx context.Context, kind, owner, from, to string) (n int64, err error) {
	list, err := b.Sums(ctx, sessions.SumFilter{Kind: kind, Owner: owner, From: from, To: to})
	for _, c := range list {
		n += c.N
	}
	return n, err
}

var berlin, _ = time.LoadLocation("Europe/Berlin")

// rule makes the rule of s over b, with a model whose tokens cost 0.01 each.
func rule(s budget.Settings, b *book) admission.Rule { return ruleOf(s, b, false) }

// ruleOf is rule for one of several nodes, if others are there.
func ruleOf(s budget.Settings, b *book, others bool) admission.Rule {
	return s.Rule(admission.Setup{Sums: b, Shared: others, Zone: berlin, MaxTokens: 10, Price: func(_ string, input, output int) float64 {
		return float64(input+output) / 100
	}})
}

// money is a sum of used-cost.
func money(owner, day string, units float64) sessions.Count {
	return sessions.Count{Kind: "used-cost", Owner: owner, Day: day, N: int64(units * 1e9)}
}

func TestBefore(t *testing.T) {
	home, err := channels.NewKey("telegram", "42")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 29, 23, 30, 0, 0, time.UTC) // half past midnight in Berlin
	ann := admission.Turn{ID: "1", Key: home, Owner: "telegram:42", At: at}
	nightly := admission.Turn{ID: "2", Key: home, Job: "nightly", At: at}
	two := budget.Limits{Day: 2}
	for _, tt := range []struct {
		name  string
		s     budget.Settings
		has   []sessions.Count
		turn  admission.Turn
		say   string
		again string // in Berlin
	}{
		{name: "nothing used", s: budget.Settings{Person: two}, turn: ann},
		{name: "a little left", s: budget.Settings{Person: two}, turn: ann, has: []sessions.Count{money("telegram:42", "20261130", 1.99)}},
		{
			name: "used up", s: budget.Settings{Person: two}, turn: ann, has: []sessions.Count{money("telegram:42", "20261130", 2)},
			say: "I have used today's 2.00 for you. I go on at 00:00 (Berlin): write again then, or ask whoever runs me.", again: "2026-12-01 00:00",
		},
		{name: "used up yesterday", s: budget.Settings{Person: two}, turn: ann, has: []sessions.Count{money("telegram:42", "20261129", 2)}},
		{name: "another person's", s: budget.Settings{Person: two}, turn: ann, has: []sessions.Count{money("telegram:43", "20261130", 2)}},
		{name: "a person's is no job's", s: budget.Settings{Person: two}, turn: nightly, has: []sessions.Count{money("telegram:42", "20261130", 2)}},
		{
			name: "of a month", s: budget.Settings{Person: budget.Limits{Day: 2, Month: 3}}, turn: ann,
			has: []sessions.Count{money("telegram:42", "20261101", 1.5), money("telegram:42", "20261130", 1.5), money("telegram:42", "20261031", 9)},
			say: "I have used this month's 3.00 for you. I go on at 00:00 on 1 December (Berlin): write again then, or ask whoever runs me.", again: "2026-12-01 00:00",
		},
		{
			name: "of a chat", s: budget.Settings{Chat: two}, turn: nightly, has: []sessions.Count{money(sessions.ChatScope(home), "20261130", 2.5)},
			say: "I have used today's 2.00 for this chat. I go on at 00:00 (Berlin): write again then, or ask whoever runs me.", again: "2026-12-01 00:00",
		},
		{
			name: "of a job", s: budget.Settings{Job: two}, turn: nightly, has: []sessions.Count{{Kind: "spent-cost", Owner: "job/nightly", Day: "20261130", N: 2e9}},
			say: "I have used today's 2.00 for the job nightly. I go on at 00:00 (Berlin), or ask whoever runs me.", again: "2026-12-01 00:00",
		},
		{
			name: "of all", s: budget.Settings{All: two}, turn: ann, has: []sessions.Count{{Kind: "spent-cost", Owner: "all", Day: "20261130", N: 2e9}},
			say: "I have used today's 2.00 for everybody. I go on at 00:00 (Berlin): write again then, or ask whoever runs me.", again: "2026-12-01 00:00",
		},
		{
			name: "in tokens", s: budget.Settings{Unit: budget.Tokens, Person: budget.Limits{Day: 50000}}, turn: ann,
			has: []sessions.Count{{Kind: "used-input", Owner: "telegram:42", Day: "20261130", N: 49000}, {Kind: "used-output", Owner: "telegram:42", Day: "20261130", N: 1000}},
			say: "I have used today's 50,000 tokens for you. I go on at 00:00 (Berlin): write again then, or ask whoever runs me.", again: "2026-12-01 00:00",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rule(tt.s, &book{all: tt.has}).Before(t.Context(), tt.turn)
			if err != nil {
				t.Fatal(err)
			}
			again := ""
			if !got.Again.IsZero() {
				again = got.Again.In(berlin).Format("2006-01-02 15:04")
			}
			if got.Say != tt.say || again != tt.again || !got.Until.IsZero() {
				t.Errorf("Before = %q, again %q, want %q, %q", got.Say, again, tt.say, tt.again)
			}
		})
	}
}

// family are people of whom some have several identities.
type family map[string]string

func (f family) Person(_ context.Context, identity string) (string, error) {
	if person := f[identity]; person != "" {
		return person, nil
	}
	return identity, nil
}

func (f family) Owners(_ context.Context, person string) (list []string, err error) {
	for identity, of := range f {
		if of == person {
			list = append(list, identity)
		}
	}
	return append(list, person), nil
}

// Whoever writes from two networks has one budget, and reads the time on their own clock.
func TestABudgetIsAPersons(t *testing.T) {
	s := budget.Settings{Person: budget.Limits{Day: 2}}
	at := time.Date(2026, 11, 29, 23, 30, 0, 0, time.UTC)
	b := &book{all: []sessions.Count{money("telegram:42", "20261130", 1), money("irc:ann", "20261130", 1.2), money("irc:bob", "20261130", 1)}}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	r := s.Rule(admission.Setup{
		Sums: b, Zone: berlin, People: family{"telegram:42": "person:x", "irc:ann": "person:x"},
		ZoneOf: func(context.Context, string) *time.Location { return newYork },
	})
	for _, tt := range []struct {
		owner   string
		private bool
		want    string
	}{
		{"telegram:42", true, "I have used today's 2.00 for you. I go on at 18:00 (New York): write again then, or ask whoever runs me."},
		{"irc:ann", false, "I have used today's 2.00 for you. I go on at 00:00 (Berlin): write again then, or ask whoever runs me."},
		{"irc:bob", true, ""},
	} {
		got, err := r.Before(t.Context(), admission.Turn{ID: "1", Owner: tt.owner, Private: tt.private, At: at})
		if err != nil || got.Say != tt.want {
			t.Errorf("Before about %s = %q, %v, want %q", tt.owner, got.Say, err, tt.want)
		}
	}
}

// At four fifths there is one sentence a day, in a private chat about the person and in a
// shared one about the chat, and none about what is used up.
func TestLittleIsLeft(t *testing.T) {
	group := channels.MustKey("telegram:-1")
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	alone := admission.Turn{ID: "1", Owner: "telegram:42", Key: channels.MustKey("telegram:42"), Private: true, At: at}
	shared := admission.Turn{ID: "2", Owner: "telegram:42", Key: group, At: at}
	s := budget.Settings{Person: budget.Limits{Day: 2, Month: 3}, Chat: budget.Limits{Day: 2}, All: budget.Limits{Day: 3}}
	for _, tt := range []struct {
		name string
		turn admission.Turn
		has  []sessions.Count
		uses float64
		want string
		note sessions.Note
	}{
		{name: "less", turn: alone, uses: 1.5},
		{
			name: "of a day", turn: alone, uses: 1.6, want: "I have used 80 % of today's 2.00 for you. The rest is for the time until 00:00 (Berlin).",
			note: sessions.Note{Kind: "budget-told", Owner: "telegram:42", Name: "20261129", Due: time.Date(2026, 11, 30, 0, 0, 0, 0, berlin)},
		},
		{
			name: "of a month", turn: alone, uses: 1.6, has: []sessions.Count{money("telegram:42", "20261101", 1)},
			want: "I have used 86 % of this month's 3.00 for you. The rest is for the time until 00:00 on 1 December (Berlin).",
			note: sessions.Note{Kind: "budget-told", Owner: "telegram:42", Name: "20261129", Due: time.Date(2026, 11, 30, 0, 0, 0, 0, berlin)},
		},
		{name: "all of it", turn: alone, uses: 2},
		{name: "of a person, in a group", turn: shared, uses: 0.1, has: []sessions.Count{money("telegram:42", "20261129", 1.8)}},
		{
			name: "of a chat", turn: shared, uses: 0.1, has: []sessions.Count{money(sessions.ChatScope(group), "20261129", 1.6)},
			want: "I have used 85 % of today's 2.00 for this chat. The rest is for the time until 00:00 (Berlin).",
			note: sessions.Note{Kind: "budget-told", Owner: sessions.ChatScope(group), Name: "20261129", Due: time.Date(2026, 11, 30, 0, 0, 0, 0, berlin)},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rule(s, &book{all: tt.has})
			m := r.(admission.Meter)
			_, err := m.Begin(t.Context(), tt.turn, admission.Call{})
			if err != nil {
				t.Fatal(err)
			}
			m.Used(tt.turn, sessions.Usage{Cost: tt.uses})
			n := r.(admission.Teller).Tell(t.Context(), tt.turn)
			if n.Say != tt.want {
				t.Fatalf("Tell = %q, want %q", n.Say, tt.want)
			}
			if n.Once == nil {
				return
			}
			if diff := cmp.Diff(tt.note, *n.Once); diff != "" {
				t.Errorf("the note (-want +got):\n%s", diff)
			}
			r.(admission.Teller).Told(n)
			if again := r.(admission.Teller).Tell(t.Context(), tt.turn); again.Say != "" {
				t.Errorf("after it was told: %q", again.Say)
			}
			tt.turn.At = tt.turn.At.AddDate(0, 0, 1)
			if again := r.(admission.Teller).Tell(t.Context(), tt.turn); again.Say == "" {
				t.Error("on the next day nothing is told")
			}
		})
	}
}

// A list has each budget of which something was used, with what runs.
func TestBudgetsAreListed(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	tomorrow := time.Date(2026, 11, 30, 0, 0, 0, 0, berlin)
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, berlin)
	group := channels.MustKey("telegram:-1")
	b := &book{all: []sessions.Count{
		money("telegram:42", "20261129", 0.5), money("irc:ann", "20261101", 1), money("irc:bob", "20261129", 2),
		money(sessions.ChatScope(group), "20261129", 1), money("model/large", "20261129", 9), money("irc:eve", "20261031", 9),
		{Kind: "spent-cost", Owner: "job/nightly", Day: "20261129", N: 25e8},
		money("job/nightly", "20261129", 2.5), // package usage counts it, too
		{Kind: "spent-cost", Owner: "all", Day: "20261129", N: 5e8},
	}}
	s := budget.Settings{Person: budget.Limits{Day: 2, Month: 6}, Chat: budget.Limits{Day: 8}, Job: budget.Limits{Month: 5}}
	r := s.Rule(admission.Setup{Sums: b, Zone: berlin, People: family{"telegram:42": "person:x", "irc:ann": "person:x"}, Price: func(string, int, int) float64 { return 0.25 }})
	ann := admission.Turn{ID: "1", Owner: "irc:ann", Key: group, At: at}
	_, err := r.(admission.Meter).Begin(t.Context(), ann, admission.Call{})
	if err != nil {
		t.Fatal(err)
	}
	row := func(scope, owner, period string, limit, used, reserved float64, until time.Time, left string) admission.Budget {
		return admission.Budget{Scope: scope, Owner: owner, Period: period, Unit: "", Limit: limit, Used: used, Reserved: reserved, Until: until, Left: left}
	}
	annToday := row("person", "person:x", "day", 2, 0.5, 0.25, tomorrow, "1.50 of today's 2.00 for you, until 00:00 (Berlin)")
	annMonth := row("person", "person:x", "month", 6, 1.5, 0.25, december, "4.50 of this month's 6.00 for you, until 00:00 on 1 December (Berlin)")
	chat := row("chat", "telegram:-1", "day", 8, 1, 0.25, tomorrow, "7.00 of today's 8.00 for this chat, until 00:00 (Berlin)")
	want := []admission.Budget{
		row("person", "irc:bob", "day", 2, 2, 0, tomorrow, "0.00 of today's 2.00 for you, until 00:00 (Berlin)"),
		row("job", "nightly", "month", 5, 2.5, 0, december, "2.50 of this month's 5.00 for the job nightly, until 00:00 on 1 December (Berlin)"),
		row("person", "irc:bob", "month", 6, 2, 0, december, "4.00 of this month's 6.00 for you, until 00:00 on 1 December (Berlin)"),
		annToday, annMonth, chat,
	}
	all, err := r.(admission.Budgeter).AllBudgets(t.Context(), at)
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Errorf("AllBudgets: %v (-want +got):\n%s", err, diff)
	}
	own, err := r.(admission.Budgeter).BudgetsOf(t.Context(), ann)
	if diff := cmp.Diff([]admission.Budget{annToday, annMonth, chat}, own); err != nil || diff != "" {
		t.Errorf("BudgetsOf: %v (-want +got):\n%s", err, diff)
	}
}

func TestNoLimitIsNoRule(t *testing.T) {
	if r := rule(budget.Settings{Unit: budget.Money}, &book{}); r != nil {
		t.Errorf("without a limit there is the rule %v, want none", r)
	}
}

// traffic is what runs on all nodes.
type traffic struct {
	mu      sync.Mutex
	running int
	passing int // how many calls ran when what was counted reached the limit; 0: it did not yet
}

// talk runs one turn with one call of the model in conversation i, which takes about a second
// and costs cost.
func (c *traffic) talk(t *testing.T, r admission.Rule, b *book, i int, cost float64) {
	who := fmt.Sprint("telegram:", i)
	turn := admission.Turn{ID: who + "#1", Key: channels.MustKey(who), Owner: who, At: time.Now()}
	v, err := r.Before(t.Context(), turn)
	if err != nil {
		t.Error(err)
	}
	if !v.IsZero() {
		return
	}
	m := r.(admission.Meter)
	v, err = m.Begin(t.Context(), turn, admission.Call{Model: "m", Input: 10})
	if err != nil {
		t.Error(err)
	}
	counted := v.IsZero()
	if counted {
		c.begins(t, who)
		time.Sleep(time.Second + time.Duration(i)*time.Millisecond) // no two end at once
		used := sessions.Usage{Cost: cost}
		m.Used(turn, used)
		turn.At = time.Now()
		c.ends(t, b, r.(admission.Counter).Count(turn, used))
	}
	m.End(turn, counted)
}

// begins notes that a call begins, which none may once the limit was reached.
func (c *traffic) begins(t *testing.T, who string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running++
	if c.passing > 0 {
		t.Errorf("a call of %s begins after the limit was reached", who)
	}
}

// ends counts a call that has ended.
func (c *traffic) ends(t *testing.T, b *book, counts []sessions.Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.add(counts...)
	if c.passing == 0 && b.spent(t) >= limitOfAll*1e9 {
		c.passing = c.running
	}
	c.running--
}

// limitOfAll is the limit of a day in TestManyAtOnce, for all together.
const limitOfAll = 2

// spent is what all together have used, in billionths.
func (b *book) spent(t *testing.T) int64 {
	n, err := b.Sum(t.Context(), "spent-cost", "all", "20000101", "20000101")
	if err != nil {
		t.Error(err)
	}
	return n
}

// A hundred conversations at once pass the limit by no more than the calls that were under way
// when it was reached: on one node by less than one call, on three by what each had begun. A
// restart of all nodes gives nothing back.
func TestManyAtOnce(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const cost = 0.15 // an estimate is 0.20
				b := &book{}
				c := &traffic{}
				for range 2 { // the second time all have restarted
					rules := make([]admission.Rule, nodes)
					for i := range rules {
						rules[i] = ruleOf(budget.Settings{All: budget.Limits{Day: limitOfAll}}, b, nodes > 1)
					}
					var wg sync.WaitGroup
					for i := range 100 {
						wg.Go(func() { c.talk(t, rules[i%nodes], b, i, cost) })
					}
					wg.Wait()
				}
				spent := b.spent(t)
				most := limitOfAll*1e9 + int64(c.passing)*int64(cost*1e9)
				t.Logf("%d calls were under way when the limit was reached; it was passed by %.2f of %d", c.passing, float64(spent)/1e9-limitOfAll, limitOfAll)
				if c.passing == 0 || spent > most {
					t.Errorf("spent %d, want from %d to %d", spent, int64(limitOfAll*1e9), most)
				}
				if nodes == 1 && spent >= limitOfAll*1e9+int64(cost*1e9) {
					t.Errorf("one node spent %d, want less than a call above the limit", spent)
				}
			})
		})
	}
}

// Far from a limit, sums are read once a second, however many turns there are.
func TestSumsAreReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		r := rule(budget.Settings{All: budget.Limits{Day: 2000}}, b)
		for i := range 50 {
			if _, err := r.Before(t.Context(), admission.Turn{ID: fmt.Sprint(i), At: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		if b.reads != 1 {
			t.Errorf("50 turns at once read sums %d times, want once", b.reads)
		}
	})
}

// Where nodes share a store, a call looks at what the others have used: a second is long enough
// to use up a budget.
func TestOtherNodesAreSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		s := budget.Settings{All: budget.Limits{Day: 2}}
		here := ruleOf(s, b, true)
		there := ruleOf(s, b, true)
		turn := admission.Turn{ID: "1", At: time.Now()}
		v, err := here.Before(t.Context(), turn)
		if err != nil || !v.IsZero() {
			t.Fatalf("Before = %v, %v", v, err)
		}
		b.add(there.(admission.Counter).Count(admission.Turn{ID: "2", At: time.Now()}, sessions.Usage{Cost: 2})...)
		v, err = here.(admission.Meter).Begin(t.Context(), turn, admission.Call{Input: 10})
		if err != nil || v.IsZero() {
			t.Errorf("Begin = %v, %v, want that the budget is used up", v, err)
		}
	})
}

// What finished calls of a running turn used is used before its commit, and after it.
func TestABudgetEndsInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		r := rule(budget.Settings{All: budget.Limits{Day: 2}}, b)
		m := r.(admission.Meter)
		turn := admission.Turn{ID: "1", At: time.Now()}
		begin := func(turn admission.Turn) string {
			v, err := m.Begin(t.Context(), turn, admission.Call{Input: 10})
			if err != nil {
				t.Fatal(err)
			}
			return v.Say
		}
		if say := begin(turn); say != "" {
			t.Fatalf("the first call is refused: %s", say)
		}
		m.Used(turn, sessions.Usage{Cost: 2})
		if say := begin(turn); say == "" {
			t.Error("the second call begins, want that the turn ends")
		}
		b.add(r.(admission.Counter).Count(turn, sessions.Usage{Cost: 2})...)
		m.End(turn, true)
		if say := begin(admission.Turn{ID: "2", At: time.Now()}); say == "" {
			t.Error("the next turn begins")
		}
		if say := begin(admission.Turn{ID: "3", At: time.Now().AddDate(0, 0, 1)}); say != "" {
			t.Errorf("on the next day: %s", say)
		}
	})
}

// A call that waits for others ends with its context, as with /stop.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rule(budget.Settings{All: budget.Limits{Day: 0.1}}, &book{})
		m := r.(admission.Meter)
		if _, err := m.Begin(t.Context(), admission.Turn{ID: "1", At: time.Now()}, admission.Call{Input: 10}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := m.Begin(ctx, admission.Turn{ID: "2", At: time.Now()}, admission.Call{Input: 10})
		if err == nil {
			t.Error("a second call began beside one that may use up everything")
		}
	})
}
