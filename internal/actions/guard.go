package actions

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/channels"
)

const (
	// MaxQuestions is how many questions a turn may ask.
	MaxQuestions = 3
	// maxPending is how many questions may wait in a chat.
	maxPending = 3
	// maxStored is how much of the arguments a record keeps for people to read, in
	// characters.
	maxStored = 12_000
)

// Turn is whose calls a [Guard] decides about.
type Turn struct {
	ID string
	// Chat is where it asks, and Item the item of the queue that makes it due.
	Chat       channels.Key
	Item       string
	Generation string
	Private    bool
	// Nobody is there to be asked: a job runs, or a program asks for somebody.
	Nobody bool
	// Asked reports whether somebody was asked about a call when the turn was parked. It
	// is never asked about again. Nil: no.
	Asked func(call string) bool
}

// Guard decides about the calls of one turn.
type Guard struct {
	b *Book
	t Turn
}

// Guard returns the guard of a turn.
func (b *Book) Guard(t Turn) *Guard {
	if t.Asked == nil {
		t.Asked = func(string) bool { return false }
	}
	return &Guard{b, t}
}

// What the model reads in place of a result.
const (
	sayDenied      = "error: not run: the person has refused it. Do not try to reach the same in another way; say what is missing."
	sayDeniedAgain = "error: not run: the person has refused exactly this already."
	sayExpired     = "error: not run: nobody allowed it in time"
	sayClosed      = "error: not run: the question about it was closed"
	sayInterrupted = "interrupted: it was allowed, and may or may not have happened"
	sayChanged     = "error: not run: something has changed since the person was asked about it"
	sayLost        = "error: not run: the person was asked about it, and the answer is lost"
	sayTooOld      = "error: not run: it was allowed too long ago"
	sayTooMany     = "error: not run: at most %d questions may be asked in one turn. Tell the person what you would have done."
	sayFull        = "error: not run: too many questions wait for an answer in this chat"
	sayNoDecider   = "error: not run: it needs a person's yes, and nobody in this chat can give it"
	sayNobody      = "error: not run: it needs a person's yes, and nobody is there to be asked"
	sayForbidden   = "error: not run: the configuration forbids this tool"
	sayUnreadable  = "error: not run: %v"
)

var _ agent.Guard = (*Guard)(nil)

// Decide says whether a call may run, and asks about it if need be. An error is the
// store's: nothing may run. It may be called side by side. The text of the question is
// that of [Book.Questions].
func (g *Guard) Decide(ctx context.Context, p agent.Proposal) (agent.Decision, error) {
	text, err := canonical(string(p.Call.Args))
	if err != nil {
		return agent.Decision{Say: fmt.Sprintf(sayUnreadable, err)}, nil
	}
	s := g.situation(p)
	verdict := Judge(s)
	if verdict == Allow {
		return agent.Decision{Verdict: agent.Allow}, nil
	}
	if s.Rule == agent.RuleDeny {
		return agent.Decision{Say: sayForbidden}, nil
	}
	files, err := filesOf(ctx, p)
	if err != nil {
		return agent.Decision{Say: fmt.Sprintf(sayUnreadable, err)}, nil
	}
	who := Who{Channel: g.t.Chat.Channel(), IDs: p.Call.Person.IDs, Name: p.Call.Person.Name}
	about := subject{
		Tool: p.Tool, Args: text, Key: g.t.Chat, Requester: who.identity(), Generation: g.t.Generation,
		Policy: g.b.policy(p.Rule), Files: files,
	}
	standing := ""
	if isOut(s.Effect) && !s.Tainted {
		standing = about.standing()
		allowed, err := g.b.stands(ctx, g.t.Chat, standing)
		if allowed || err != nil {
			return agent.Decision{Verdict: agent.Allow}, err
		}
	}
	if verdict == Refuse {
		return agent.Decision{Say: sayNobody}, nil
	}
	if p.NoQuestions {
		return agent.Decision{}, nil // whoever asks so has words for it
	}
	shown, plain, err := shownOf(ctx, p, text)
	if err != nil {
		return agent.Decision{Say: fmt.Sprintf(sayUnreadable, err)}, nil
	}
	if plain {
		about.Args += "\n" + shown // to whom it goes may change, too
	}
	var parts []Part
	if !plain && utf8.RuneCountInString(shown) > maxStored {
		parts = boundedParts(partsOf(shown), maxStored)
	}
	var origins []string
	for _, o := range p.Taint {
		origins = append(origins, string(o))
	}
	return g.ask(ctx, p.Call.ID, about, record{
		Deciders: g.b.deciders(who, g.t.Private),
		Standing: standing, Shown: cut(shown, maxStored), Length: utf8.RuneCountInString(shown), Plain: plain, Parts: parts, Files: files,
		Origins: origins, Why: why(s, origins), Runs: s.Effect == agent.EffectRun,
	})
}

// shownOf is what people read of a call: args, or words of its tool.
func shownOf(ctx context.Context, p agent.Proposal, args string) (text string, plain bool, err error) {
	if p.Ask == nil {
		return args, false, nil
	}
	text, err = p.Ask(ctx)
	if text == "" {
		return args, false, err
	}
	return text, true, err
}

// situation is what the verdict about p depends on.
func (g *Guard) situation(p agent.Proposal) Situation {
	rule := p.Rule
	if rule == agent.RuleDefault && p.Unattended {
		rule = agent.RuleAllow
	}
	return Situation{
		Effect: p.Effect, Rule: rule, Tainted: len(p.Taint) > 0, Nobody: g.t.Nobody,
		Weighty: p.Weighty != nil && p.Weighty(g.t.Nobody),
	}
}

// filesOf are the files to which a yes to p is bound.
func filesOf(ctx context.Context, p agent.Proposal) (files []File, err error) {
	if p.Files == nil {
		return nil, nil
	}
	list, err := p.Files(ctx)
	for _, f := range list {
		files = append(files, File(f))
	}
	return files, err
}

// ask finds the answer to the question about a call, or puts the question, of which draft
// has what people read.
func (g *Guard) ask(ctx context.Context, call string, about subject, draft record) (d agent.Decision, err error) {
	var told *record
	err = g.b.on(ctx, g.t.Chat, func(p *page) error {
		told = nil
		r := p.byCall(g.t.ID, call)
		if r != nil {
			was := r.State
			d = p.answer(r, about.hash(), g.b.o.For)
			if r.State != was {
				told = r
			}
			return nil
		}
		d = g.mayAsk(p, call, about.hash(), draft.Deciders)
		if d.Verdict != agent.Wait {
			return nil
		}
		r = g.propose(p, call, about, draft)
		d.Until = r.Until
		told = r
		return nil
	})
	if err != nil {
		return agent.Decision{}, fmt.Errorf("actions: ask about a call of %s: %w", about.Tool, err)
	}
	if told != nil {
		g.b.tell(told)
	}
	return d, nil
}

// propose adds a question to p: draft, with what is known of it now.
func (g *Guard) propose(p *page, call string, about subject, draft record) *record {
	r := draft // p may be another page at the next try
	r.State = Pending
	r.Chat = g.t.Chat
	r.Item = g.t.Item
	r.Turn = g.t.ID
	r.Call = call
	r.Tool = about.Tool
	r.Hash = about.hash()
	r.Requester = about.Requester
	r.Private = g.t.Private
	r.Asked = p.now
	r.Until = p.now.Add(g.b.o.For).Truncate(time.Second)
	p.add(&r)
	return &r
}

// answer is what became of the question r, now that its turn goes on. good is how long an
// answer is good.
func (p *page) answer(r *record, hash string, good time.Duration) agent.Decision {
	switch {
	case p.pending(r) && r.Hash == hash:
		return agent.Decision{Verdict: agent.Wait, Until: r.Until}
	case r.State == Pending && r.Hash == hash:
		p.end(r, Expired)
	case r.State == Pending:
		p.end(r, Closed)
		p.settle(r)
		return agent.Decision{Say: sayChanged}
	}
	defer p.settle(r)
	switch r.State {
	case Allowed:
		if r.Hash != hash {
			r.State = Closed
			return agent.Decision{Say: sayChanged}
		}
		if p.now.Sub(r.Decided) > good {
			r.State = Expired
			return agent.Decision{Say: sayTooOld}
		}
		r.State = Used
		return agent.Decision{Verdict: agent.Allow}
	case Used:
		return agent.Decision{Say: sayInterrupted}
	case Denied:
		return agent.Decision{Say: sayDenied}
	case Expired:
		return agent.Decision{Say: sayExpired}
	}
	return agent.Decision{Say: sayClosed}
}

// mayAsk says Ask, or why no question is put about a call.
func (g *Guard) mayAsk(p *page, call, hash string, deciders []string) agent.Decision {
	asked := 0
	denied := false
	for _, r := range p.all {
		if r.Turn == g.t.ID {
			asked++
			denied = denied || r.State == Denied && r.Hash == hash
		}
	}
	switch {
	case g.t.Asked(call):
		return agent.Decision{Say: sayLost}
	case denied:
		return agent.Decision{Say: sayDeniedAgain}
	case asked >= MaxQuestions:
		return agent.Decision{Say: fmt.Sprintf(sayTooMany, MaxQuestions)}
	case len(deciders) == 0:
		return agent.Decision{Say: sayNoDecider}
	case len(p.waiting()) >= maxPending:
		return agent.Decision{Say: sayFull}
	}
	return agent.Decision{Verdict: agent.Wait}
}
