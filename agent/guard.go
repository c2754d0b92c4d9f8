package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"dragoman/sessions"
)

// Effect says what a call of a tool does to the world. An unknown one counts as EffectOut.
type Effect string

// The effects, the least first.
const (
	EffectRead Effect = "read" // changes nothing, and tells nobody anything
	EffectOwn  Effect = "own"  // changes what is ours and can be undone: memory, reminders of this chat, the workspace
	EffectOut  Effect = "out"  // words leave: for another chat, an address that the model made, a server's tool
	EffectRun  Effect = "run"  // runs a program
)

// EffectTool is a [Tool] whose calls differ in what they do. The others do what Spec.Effect
// says.
type EffectTool interface {
	// EffectOf returns the effect of c. It must depend on its arguments alone, and must be
	// safe for concurrent use.
	EffectOf(c Call, seen Seen) Effect
}

// WeightyTool is a [Tool] that changes what is ours, and some of whose changes are noticed
// late: what is forgotten is missed when it is needed, and what repeats goes on.
type WeightyTool interface {
	// IsWeighty reports whether c is such a change. earlier is how many calls of the tool
	// came before it in the turn. nobody is there to see it: a job runs, for example. It
	// must be safe for concurrent use.
	IsWeighty(c Call, earlier int, nobody bool) bool
}

// File is a file to whose content a yes is bound.
type File struct {
	Name string
	// Hash is of its content, "" if there is no such file.
	Hash string
}

// FileTool is a [Tool] that replaces files, or runs them. A yes to a call is good only while
// they are as they were when somebody was asked.
type FileTool interface {
	// Files returns the files to which a yes to c is bound, as they are now. An error says
	// to the model why c cannot run.
	Files(ctx context.Context, c Call) ([]File, error)
}

// Proposal is a call that the model wants to make.
type Proposal struct {
	// Turn is the id of the turn. Step counts the model's answers in it, from 1, and Place
	// the calls of that answer, from 0: together they name the call, in a run after a
	// restart too.
	Turn        string
	Step, Place int
	// Earlier is how many calls of the same tool came before it in the turn, in the same
	// answer too.
	Earlier int
	// Tool is the tool's name, and Call what it would get.
	Tool   string
	Call   Call
	Effect Effect
	// Rule is what [Turn.Permit] says about the tool.
	Rule Rule
	// Unattended is [Spec.Unattended], and Weighty and Files what a [WeightyTool] and a
	// [FileTool] say about the call; nil: nothing.
	Unattended bool
	Weighty    func(nobody bool) bool
	Files      func(context.Context) ([]File, error)
	// Taint is whose words, beside the person's and the model's, were in the request that
	// the model answered with this call: see [sessions.Taint.List]. Nil: nobody's.
	Taint []sessions.Origin
	// Ask, if not nil, returns what people read of the call in place of its arguments, if
	// they are asked about it. An error says to the model why the call cannot run.
	Ask func(ctx context.Context) (string, error)
	// NoQuestions: nobody can be asked about it. What would need a yes is refused.
	NoQuestions bool
}

// AskTool is a [Tool] about whose calls people are asked in words of its own: see
// [Proposal.Ask].
type AskTool interface {
	Ask(ctx context.Context, c Call) (string, error)
}

// Verdict is what a [Guard] decides.
type Verdict uint8

// The verdicts.
const (
	Refuse Verdict = iota
	Allow
	Wait // until somebody decides
)

// Decision is a verdict and its reason.
type Decision struct {
	Verdict Verdict
	// Say is the result of a refused call, for the model, or the question of one that
	// waits, for people.
	Say string
	// Until is when one that waits is asked about again at the latest.
	Until time.Time
}

// Guard decides which calls run.
type Guard interface {
	// Decide is called before each call that runs, unless the journal says that it began
	// to run before. It is called again for a call that waits when its turn is resumed. An
	// error ends the turn, which can be run again.
	Decide(ctx context.Context, p Proposal) (Decision, error)
}

// GuardFunc is a function as a [Guard].
type GuardFunc func(ctx context.Context, p Proposal) (Decision, error)

// Decide calls f.
func (f GuardFunc) Decide(ctx context.Context, p Proposal) (Decision, error) { return f(ctx, p) }

// Unguarded allows every call, for callers that decide in another way what may be done.
var Unguarded Guard = GuardFunc(func(context.Context, Proposal) (Decision, error) {
	return Decision{Verdict: Allow}, nil
})

// onlyOurs is what decides without a Guard: nothing leaves, and nothing is run.
var onlyOurs Guard = GuardFunc(func(_ context.Context, p Proposal) (Decision, error) {
	if p.Effect == EffectRead || p.Effect == EffectOwn {
		return Decision{Verdict: Allow}, nil
	}
	return Decision{Say: sayNobody}, nil
})

// What the model reads of calls that were refused without a reason.
const (
	sayNobody  = "error: not run: it would act outside of this conversation, and nobody can allow that here"
	sayRefused = "error: not run: it was not allowed"
)

// Waiting is the error of a turn that ends because calls of its last answer wait for
// somebody's decision. The other calls of that answer have run, and the journal has their
// results. The turn can be run again with its journal at any time.
type Waiting struct {
	// Say is all questions, and Until the earliest time of the decisions.
	Say   string
	Until time.Time
}

// Error does not quote the questions, which have chat text.
func (w *Waiting) Error() string { return "agent: the turn waits for a decision about a call" }

// add joins another decision to w.
func (w *Waiting) add(d Decision) {
	if d.Say != "" {
		w.Say = strings.TrimPrefix(w.Say+"\n\n"+d.Say, "\n\n")
	}
	if w.Until.IsZero() || !d.Until.IsZero() && d.Until.Before(w.Until) {
		w.Until = d.Until
	}
}

// ruling is what becomes of a call: it runs, or waits, or is answered with say.
type ruling struct {
	run, wait bool
	say       string
}

// rule decides about call c, the n-th of its message. times is how often in a row the same
// call was made.
func (r *run) rule(ctx context.Context, c sessions.ToolCall, times, n int) (ruling, error) {
	why, run := r.refusal(c, times, n)
	if !run {
		return ruling{say: why}, nil
	}
	if r.t.MayUseTools != nil {
		may, err := r.t.MayUseTools(ctx)
		if err != nil {
			return ruling{}, err
		}
		if !may {
			r.barred.Store(true)
			return ruling{say: sayBarred}, nil
		}
	}
	if r.started[c.ID] || r.forms[c.ID] != nil {
		return ruling{run: true}, nil // it was allowed then
	}
	d, err := r.askGuard(ctx, c, n)
	switch {
	case err != nil:
		return ruling{}, err
	case d.Verdict == Allow:
		return ruling{run: true}, nil
	case d.Verdict == Wait:
		r.waitFor(d)
		return ruling{wait: true}, nil
	}
	return ruling{say: cmp.Or(d.Say, sayRefused)}, nil
}

func (r *run) askGuard(ctx context.Context, c sessions.ToolCall, n int) (Decision, error) {
	call := r.callOf(c)
	p := Proposal{
		Turn: r.t.ID, Step: r.steps, Place: n, Earlier: r.earlier(c), Tool: c.Name, Call: call, Effect: r.effectOf(c.Name, call), Taint: call.Taint,
		Rule: r.rights().permit.rule(c.Name), Unattended: r.kit.specs[c.Name].Unattended,
	}
	if t, is := ToolAs[WeightyTool](r.kit.tools[c.Name]); is {
		p.Weighty = func(nobody bool) bool { return t.IsWeighty(call, p.Earlier, nobody) }
	}
	if t, is := ToolAs[FileTool](r.kit.tools[c.Name]); is {
		p.Files = func(ctx context.Context) ([]File, error) { return t.Files(ctx, call) }
	}
	if t, is := ToolAs[AskTool](r.kit.tools[c.Name]); is {
		p.Ask = func(ctx context.Context) (string, error) { return t.Ask(ctx, call) }
	}
	d, err := r.guard().Decide(ctx, p)
	if err != nil {
		return d, fmt.Errorf("agent: may %s run: %w", c.Name, err)
	}
	return d, nil
}

func (r *run) guard() Guard {
	if r.t.Guard == nil {
		return onlyOurs
	}
	return r.t.Guard
}

// earlier counts the turn's calls of c's tool before c.
func (r *run) earlier(c sessions.ToolCall) (count int) {
	for i := range r.all[r.inputAt:] {
		for _, other := range r.all[r.inputAt+i].ToolCalls {
			if other.ID == c.ID {
				return count
			}
			if inner, _ := r.meant(other); inner.Name == c.Name {
				count++
			}
		}
	}
	return count
}

// effectOf is the effect of a call of the tool called name.
func (r *run) effectOf(name string, c Call) Effect {
	if t, ok := ToolAs[EffectTool](r.kit.tools[name]); ok {
		return cmp.Or(t.EffectOf(c, r.seen()), EffectOut)
	}
	return cmp.Or(r.kit.specs[name].Effect, EffectOut)
}
