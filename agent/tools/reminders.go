package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/heartbeat"
	"dragoman/sessions"
)

// Reminders keeps what people asked to be reminded of, and knows who may change what.
// internal/reminders.Book is one. What its methods return is for the model and for people;
// errors of type heartbeat.Refusal are, too.
type Reminders interface {
	Schedule(ctx context.Context, c agent.Call, o heartbeat.Order) (said string, err error)
	ListJobs(ctx context.Context, c agent.Call) (said string, err error)
	ChangeJob(ctx context.Context, c agent.Call, id string, o heartbeat.Order) (said string, err error)
	CancelJob(ctx context.Context, c agent.Call, id string) (said string, err error)
}

// words are texts, which models also write as one text.
type words []string

// UnmarshalJSON accepts a list, a text, and numbers in either.
func (w *words) UnmarshalJSON(b []byte) error {
	var one any
	err := json.Unmarshal(b, &one)
	if err != nil {
		return err
	}
	many, isList := one.([]any)
	if !isList {
		many = []any{one}
	}
	*w = nil
	for _, item := range many {
		switch item.(type) {
		case nil:
		case string, float64:
			*w = append(*w, fmt.Sprint(item))
		default:
			return errors.New("want a list of texts")
		}
	}
	return nil
}

// repeatArgs are a heartbeat.Rule as models write it.
type repeatArgs struct {
	Freq     string `json:"freq" jsonschema:"daily, weekly, monthly or yearly"`
	Interval number `json:"interval,omitempty" jsonschema:"2 is every other"`
	Days     words  `json:"days,omitempty" jsonschema:"Weekly: mo..su. Monthly and yearly: 15, -1 (last day), -1fr (last Friday), 2mo"`
	Times    words  `json:"times,omitempty" jsonschema:"Like 16:00"`
	Until    string `json:"until,omitempty" jsonschema:"Last day, like 2027-06-30"`
	Count    number `json:"count,omitempty"`
}

// orderArgs are what the tools that make and change jobs have in common.
type orderArgs struct {
	Text   string     `json:"text,omitempty" jsonschema:"Delivered as it is"`
	Prompt string     `json:"prompt,omitempty" jsonschema:"Or a task for you, done when it is due without this conversation"`
	At     string     `json:"at,omitempty" jsonschema:"The person's clock, without offset: 2026-11-29T09:00. With repeat: the first time"`
	In     string     `json:"in,omitempty" jsonschema:"Real time from now: 1h30m"`
	Every  string     `json:"every,omitempty" jsonschema:"Real time, at least 5m"`
	Repeat repeatArgs `json:"repeat,omitzero" jsonschema:"By the calendar"`
	Zone   string     `json:"zone,omitempty" jsonschema:"The person's IANA zone, only if they have just said where they are"`
}

// order is a as the reminders understand it.
func (a orderArgs) order() heartbeat.Order {
	o := heartbeat.Order{Text: a.Text, Prompt: a.Prompt, Zone: a.Zone, When: heartbeat.When{At: a.At, In: a.In, Every: a.Every}}
	r := a.Repeat
	if r.Freq != "" || len(r.Days)+len(r.Times) > 0 { // some models fill in what they do not use
		o.When.Repeat = &heartbeat.Rule{
			Freq: r.Freq, Interval: int(r.Interval), Days: r.Days, Times: r.Times, Until: r.Until, Count: int(r.Count),
		}
	}
	return o
}

var (
	_ = builtin(func(n Needs) agent.Tool { return Schedule(n.Reminders) })
	_ = builtin(func(n Needs) agent.Tool { return ListJobs(n.Reminders) })
	_ = builtin(func(n Needs) agent.Tool { return ChangeJob(n.Reminders) })
	_ = builtin(func(n Needs) agent.Tool { return CancelJob(n.Reminders) })
)

// Schedule is the tool schedule: it makes a reminder, or a job, in this chat.
func Schedule(r Reminders) agent.Tool {
	t := newTool(agent.Spec{
		Name:        "schedule",
		Description: "Remind this chat of something, or run a task later. Give text or prompt, and one of at, in, every, repeat. Repeat to the person what the result says.",
		Repeatable:  false, // a repeat would make another
		Effect:      agent.EffectOwn,
		Origin:      sessions.OriginModel,
		Keep:        30,
		Chat:        true,
	}, func(ctx context.Context, c agent.Call, args orderArgs) (string, error) {
		said, err := r.Schedule(ctx, c, args.order())
		return said, reminderFailed(ctx, err)
	})
	t.weighty = func(args orderArgs, _ int, nobody bool) bool { return args.goesOn() || nobody && args.Zone != "" }
	return t
}

// goesOn reports whether the job would repeat.
func (a orderArgs) goesOn() bool { return a.Every != "" || a.order().When.Repeat != nil }

// listJobsArgs are the arguments of list_jobs: none.
type listJobsArgs struct{}

// ListJobs is the tool list_jobs: it shows the reminders of whoever asks.
func ListJobs(r Reminders) agent.Tool {
	return newReader(agent.Spec{
		Name:        "list_jobs",
		Description: "List the person's reminders and jobs.",
		Origin:      sessions.OriginModel, // and what is marked by whoever lists them
		Keep:        10,
		Chat:        true,
	}, func(ctx context.Context, c agent.Call, _ listJobsArgs) (string, error) {
		said, err := r.ListJobs(ctx, c)
		return said, reminderFailed(ctx, err)
	})
}

// changeJobArgs are the arguments of change_job. Those of orderArgs are described to the
// model there, and not once more: each request has both.
type changeJobArgs struct {
	ID     string       `json:"id"`
	Text   string       `json:"text,omitempty"`
	Prompt string       `json:"prompt,omitempty"`
	At     string       `json:"at,omitempty"`
	In     string       `json:"in,omitempty"`
	Every  string       `json:"every,omitempty"`
	Repeat changeRepeat `json:"repeat,omitzero"`
	Zone   string       `json:"zone,omitempty"`
}

// changeRepeat is repeatArgs without its descriptions.
type changeRepeat struct {
	Freq     string `json:"freq"`
	Interval number `json:"interval,omitempty"`
	Days     words  `json:"days,omitempty"`
	Times    words  `json:"times,omitempty"`
	Until    string `json:"until,omitempty"`
	Count    number `json:"count,omitempty"`
}

// order is a as the reminders understand it.
func (a changeJobArgs) order() heartbeat.Order {
	same := orderArgs{Text: a.Text, Prompt: a.Prompt, At: a.At, In: a.In, Every: a.Every, Repeat: repeatArgs(a.Repeat), Zone: a.Zone}
	return same.order()
}

// ChangeJob is the tool change_job: it changes what a reminder says, or when.
func ChangeJob(r Reminders) agent.Tool {
	t := newTool(agent.Spec{
		Name:        "change_job",
		Description: "Change a reminder or job, like r7, with the arguments of schedule. What is left out stays.",
		Repeatable:  false, // "in 1h" would mean another time
		Effect:      agent.EffectOwn,
		Origin:      sessions.OriginModel,
		Keep:        -5,
		Chat:        true,
	}, func(ctx context.Context, c agent.Call, args changeJobArgs) (string, error) {
		if strings.TrimSpace(args.ID) == "" {
			return "", errNoJob
		}
		said, err := r.ChangeJob(ctx, c, args.ID, args.order())
		return said, reminderFailed(ctx, err)
	})
	t.weighty = func(args changeJobArgs, _ int, nobody bool) bool {
		return nobody || args.Every != "" || args.order().When.Repeat != nil
	}
	return t
}

// cancelJobArgs are the arguments of cancel_job.
type cancelJobArgs struct {
	ID string `json:"id" jsonschema:"Like r7"`
}

// CancelJob is the tool cancel_job: it removes a reminder.
func CancelJob(r Reminders) agent.Tool {
	t := newTool(agent.Spec{
		Name:        "cancel_job",
		Description: "Cancel a reminder or job.",
		// A number is never given again, so a second cancelling finds nothing.
		Repeatable: true,
		Effect:     agent.EffectOwn,
		Origin:     sessions.OriginModel,
		Keep:       0,
		Chat:       true,
	}, func(ctx context.Context, c agent.Call, args cancelJobArgs) (string, error) {
		if strings.TrimSpace(args.ID) == "" {
			return "", errNoJob
		}
		said, err := r.CancelJob(ctx, c, args.ID)
		return said, reminderFailed(ctx, err)
	})
	t.weighty = func(_ cancelJobArgs, _ int, nobody bool) bool { return nobody }
	return t
}

// errNoJob is for calls that do not say which job they mean.
var errNoJob = errors.New("say which one, like r7; list_jobs shows them")

// reminderFailed is err for a model: the sentence of a refusal, or that the store failed.
func reminderFailed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	refusal, refused := errors.AsType[heartbeat.Refusal](err)
	if refused {
		return refusal
	}
	return storeFailed(ctx, err)
}
