package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/sessions"
)

// What ends a task early, and what its model reads of calls that need a yes.
const (
	sayTaskTokens = "It has used the tokens that one task may use."
	sayTaskYes    = "error: not run: it needs a person's yes, and a task cannot ask for one. Answer with what you have, and say what you would have done."
)

// toolsForTask are the names of the tools for a task of the tool called self, which is never
// among them. Names that the turn does not have are an error.
func (r *run) toolsForTask(self string, wanted []string) ([]string, error) {
	all := []string{}
	usual := []string{}
	for _, s := range slices.Concat(r.offer.specs, r.offer.listed) {
		if s.Name == self || r.kit.index[s.Name] || r.t.Given.isTheirs(sessions.ToolCall{Name: s.Name}) {
			continue
		}
		all = append(all, s.Name)
		if s.Effect == EffectRead || s.Origin == sessions.OriginWeb {
			usual = append(usual, s.Name)
		}
	}
	if wanted == nil {
		return usual, nil
	}
	for _, name := range wanted {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("a task cannot have the tool %.64q; possible are: %s", name, strings.Join(all, ", "))
		}
	}
	return slices.Clone(wanted), nil
}

// taskGuard asks nobody: a task answers its turn, and no person.
type taskGuard struct{ guard Guard }

// Decide implements [Guard].
func (g taskGuard) Decide(ctx context.Context, p Proposal) (Decision, error) {
	p.NoQuestions = true
	d, err := g.guard.Decide(ctx, p)
	if d.Verdict == Wait {
		d = Decision{Say: sayTaskYes}
	}
	if d.Verdict == Refuse && d.Say == "" {
		d.Say = sayTaskYes
	}
	return d, err
}

// TaskMeter is a [Meter] that can tell the calls of a task from those of its turn, which run
// side by side. One that is no TaskMeter gets them all, and must be safe for that.
type TaskMeter interface {
	// OfTask returns the meter of the task with that id, for as long as the turn runs.
	OfTask(id string) Meter
}

// taskMeter bounds a task, by its turn's meter and by a number of tokens.
type taskMeter struct {
	inner      Meter
	most, used int
	input      int    // of the call under way
	said       string // why it ended
}

func newTaskMeter(m Meter, id string, most int) *taskMeter {
	t := &taskMeter{inner: m, most: most}
	able, is := m.(TaskMeter)
	if is {
		t.inner = able.OfTask(id)
	}
	return t
}

// Begin implements [Meter].
func (m *taskMeter) Begin(ctx context.Context, model string, input int) (say string, err error) {
	if m.most > 0 && m.used+input > m.most {
		m.said = sayTaskTokens
		return m.said, nil
	}
	m.input = input
	if m.inner != nil {
		say, err = m.inner.Begin(ctx, model, input)
	}
	m.said = say
	return say, err
}

// Used implements [Meter].
func (m *taskMeter) Used(u *sessions.Usage) {
	switch {
	case u != nil && u.Input+u.Output > 0:
		m.used += u.Input + u.Output
	case u == nil || u.Cost == 0: // with a cost alone, a tool was paid
		m.used += m.input
	}
	if m.inner != nil {
		m.inner.Used(u)
	}
}
