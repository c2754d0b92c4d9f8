// Package admission has the rules that a turn must pass before it asks the model: each
// may end it with a sentence instead, or park it.
//
// The promise. The rules are asked in the order of their list, before anything of a turn
// is paid for or shown. The first one that has a sentence decides.
//
// It ends the turn: its messages and the sentence are committed together, and the sentence
// is delivered, like an answer of the model: durable, exactly once, in order. The model is
// not called, and whoever reads the conversation later, the model included, sees both.
//
// Or, with a time, it parks the turn: the sentence is sent as a notice, once, and the
// messages wait, durably, with those that come after them. At that time, or when the rules
// change, the rules are asked again. A parked turn needs no goroutine and no slot. A /stop
// ends it. The time does not count against agent.give_up_after.
//
// A job whose turn a rule ends or parks has the outcome "skipped", for the reason that the
// sentence says; its target is told nothing, unless a quota is used up (Verdict.Again): then
// it is told once, until the job has run again. So has a turn over messages that its caller
// keeps: it is refused.
//
// Failures:
//
//	a rule returns an error or panics  The turn runs again a little later, and asks again. After
//	                                   agent.give_up_after the person is told that something
//	                                   went wrong.
//	the daemon dies before the commit  Nothing was told. The turn runs again and asks again.
//	the daemon dies after the commit   The sentence is in the outbox. Nobody asks again.
//	the turn was let in, and the       Rules are not asked again once a step of the turn is in
//	daemon dies while it runs          the journal: it goes on where it was.
//	the model is away, and the turn    Rules are asked again at each attempt.
//	is postponed
//	messages join a running turn       They belong to a turn that was let in: rules are not
//	(queue.mode: steer)                asked.
//	the daemon dies while a turn is    It is parked after the start, and the rules are asked
//	parked                             again, because they may have changed.
//
// So a rule may be asked more than once about one turn, and its answer alone must change
// nothing. What a turn has used it learns from [Counter], exactly once.
//
// Not here: what is decided about a message before it is stored (who may talk: package
// people; size, rate and a full queue: package gateway). A message that is refused there is
// no part of the conversation, and costs no turn.
//
// Goroutines: none. Rules are called in those of their turns, many at the same time.
package admission

import (
	"context"
	"log/slog"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Turn is what a rule knows of a turn that is about to ask the model.
type Turn struct {
	// ID is "" for a summary, which is no turn: it is only counted.
	ID string
	// Key is the conversation that gets the answer. It is zero for a job that is no longer
	// configured.
	Key channels.Key
	// Person wrote the newest of the messages that the turn answers, in a chat that is
	// Private or not. At the command line it is the operator; a job has nobody.
	Person  channels.Person
	Private bool
	// Job is the name of the job whose due time the turn is, "" if people wrote.
	Job string
	// Owner is whose budget it uses: an identity like "telegram:42", or the ID of the
	// principal that calls by the API; "" for a job.
	Owner string
	// Parks says that the turn can be parked: its messages are in the store, and people wrote.
	Parks bool
	// At is the present time.
	At time.Time
}

// Rule decides whether turns may ask the model.
type Rule interface {
	// Before decides about t. An error is one of the store, or of whatever else was asked.
	Before(ctx context.Context, t Turn) (Verdict, error)
}

// Verdict is what a rule decides about a turn. The zero value lets it go on.
type Verdict struct {
	// Say is the sentence that ends the turn. Commands in it are written with a slash: each
	// chat reads them as it has to type them.
	Say string
	// Until, if not zero, parks the turn until that time instead of ending it.
	Until time.Time
	// Again, if not zero, says that the turn ends, or is parked, because a quota is used up until then.
	// Programs that ask by the API are told so, and the target of a job once.
	Again time.Time
}

// End is the verdict that ends a turn.
func End(sentence string) Verdict { return Verdict{Say: sentence} }

// IsZero reports whether the turn may go on.
func (v Verdict) IsZero() bool { return v == Verdict{} }

// Counter is for rules that add up what turns use. Without it, a rule is told nothing.
type Counter interface {
	// Count returns what is added to the store's sums in the commit of t, which asked the
	// model and used that many tokens. They must be counts that the store takes, or the
	// commit is refused and tried again.
	Count(t Turn, used sessions.Usage) []sessions.Count
}

// Call is a call of the model that is about to begin.
type Call struct {
	Model string `json:"model"`
	Input int    `json:"input"` // estimated tokens
	// First says that the model has not read anything of the turn.
	First bool `json:"-"`
}

// Meter is for rules that limit what is used while turns run. Without it, a rule is asked
// only before the turn.
type Meter interface {
	// Begin is asked before each call of the model in t, and may wait. A verdict ends the
	// turn with what was said so far and the sentence. Before the first call it may park the
	// turn, as [Rule].Before does.
	Begin(ctx context.Context, t Turn, c Call) (Verdict, error)
	// Used says that the call that began last has ended and used u, nothing if it failed.
	Used(t Turn, u sessions.Usage)
	// End says that t runs no longer. counted: what it used is in the store's sums now.
	End(t Turn, counted bool)
}

// Teller is for rules that tell people something beside an answer of the model.
type Teller interface {
	// Tell returns what to tell with the answer that t ends with, now that its calls have
	// ended. The zero Notice: nothing.
	Tell(ctx context.Context, t Turn) Notice
	// Told says that a notice of Tell was told now, or before by somebody else.
	Told(n Notice)
}

// Notice is a sentence that is told once.
type Notice struct {
	Say string
	// Once is stored in the commit of the answer. Who finds it there tells nothing.
	Once *sessions.Note
}

// Budget is how much of something may be used until a time.
type Budget struct {
	// Scope is "person", "chat", "job" or "all", and Owner a person's ID, a key, or the name of
	// a job.
	Scope, Owner string
	Period       string // "day" or "month"
	Unit         string // "money" or "tokens"
	// Used is what turns used on all nodes. Reserved is for the calls that run on this one.
	Limit, Used, Reserved float64
	Until                 time.Time
	// Left says for people what is left, and until when.
	Left string
}

// Budgeter is for rules with budgets.
type Budgeter interface {
	// BudgetsOf lists those of t, and AllBudgets those that were begun, most used first.
	BudgetsOf(ctx context.Context, t Turn) ([]Budget, error)
	AllBudgets(ctx context.Context, at time.Time) ([]Budget, error)
}

// Warning is a sentence for whoever runs Dragoman.
type Warning struct {
	// ID names it. They are told once for each.
	ID  string
	Say string
}

// Warner is for rules that tell whoever runs Dragoman something. It is asked after turns.
type Warner interface {
	// Warnings lists what they should know now, sorted. An error is the store's.
	Warnings(ctx context.Context, at time.Time) ([]Warning, error)
}

// Type is one type of rule. Its file declares it with its settings, and internal/app
// lists all types: nothing else has to know one by name.
type Type struct {
	// Name is the name of the section of its settings, below limits.
	Name string
	// Settings returns them, empty: a pointer to a new struct. Its fields have tags, which
	// internal/config lists, and from which it reads keys, defaults, forms and
	// documentation.
	Settings func() Settings
}

// Settings are those of one rule.
type Settings interface {
	// Rule makes the rule, or returns nil if the settings turn it off. It is called at the
	// start and at each reload, so a rule keeps what it counts in the store.
	Rule(s Setup) Rule
}

// Priced is for settings of rules that count money. Without it, a model needs no price.
type Priced interface {
	// NeedsPrices reports whether what a model without a price uses is counted as nothing.
	NeedsPrices() bool
}

// Sums reads what was counted.
type Sums interface {
	// Sum returns what owner has counted of a kind on the days from fromDay to toDay, both
	// inclusive and like 20261128.
	Sum(ctx context.Context, kind, owner, fromDay, toDay string) (int64, error)
	// Sums lists sums by kind, owner and day.
	Sums(ctx context.Context, f sessions.SumFilter) ([]sessions.Count, error)
}

// People says which identities are one person's.
type People interface {
	// Person returns who an identity, or the ID of a principal, belongs to.
	Person(ctx context.Context, identity string) (string, error)
	// Owners returns the owners of all sums of the person to whom an identity belongs.
	Owners(ctx context.Context, identity string) ([]string, error)
}

// Setup is what a rule gets besides its settings.
type Setup struct {
	Sums Sums
	// Shared says that other nodes add to Sums.
	Shared bool
	// Elsewhere lists the calls that run on other nodes. Nil: nobody knows of any.
	Elsewhere func(ctx context.Context) ([]Underway, error)
	// People knows who has several identities. Nil: nobody has.
	People People
	// ZoneOf returns the time zone in which an identity lives, as far as it is known. Nil:
	// Zone is everybody's.
	ZoneOf func(ctx context.Context, identity string) *time.Location
	// Operator returns what whoever runs Dragoman is called, in Markdown, and one of their
	// identities; "" if that is not known. Nil: it is not.
	Operator func(ctx context.Context) (name, identity string)
	// Zone is the time zone in which days are counted: agent.time_zone.
	Zone *time.Location
	// Price returns what a call of a model costs, 0 if no price is configured. Nil: nothing.
	Price func(model string, input, output int) float64
	// MaxTokens limits one answer of the model. 0: nothing does.
	MaxTokens int
	// Logger is never nil.
	Logger *slog.Logger
}
