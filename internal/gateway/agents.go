package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// Agents are the personas of the configuration: personas.Set.
type Agents interface {
	// Bound reports whether anything is bound to some chat.
	Bound() bool
	// Choices are the names that may answer in k, the default first; none where nothing is
	// bound.
	Choices(k channels.Key) []string
	// Of is the persona of k where chosen was chosen; "" is none.
	Of(k channels.Key, chosen string) string
	// Persona returns the persona of that name, nil if there is none.
	Persona(name string) *agent.Persona
}

// plainAgent is what people call the agent without a persona.
const plainAgent = "dragoman"

// shownAgent is a persona as people call it.
func shownAgent(name string) string { return cmp.Or(name, plainAgent) }

// hasAgents reports whether /agent is of use in some chat.
func (g *Gateway) hasAgents() bool { return g.opts.Agents != nil && g.opts.Agents.Bound() }

// hasAgentsIn reports whether there is a choice in the chat of m.
func (g *Gateway) hasAgentsIn(_ context.Context, m channels.Inbound) (bool, error) {
	return len(g.opts.Agents.Choices(m.Key)) > 1, nil
}

// resolved returns s, the settings of k, with the persona and the model that answer there.
func (g *Gateway) resolved(k channels.Key, s sessions.Settings) sessions.Settings {
	own := s.Model
	if g.opts.Agents == nil {
		s.Agent = ""
	} else {
		s.Agent = g.opts.Agents.Of(k, s.Agent)
	}
	s.Model = cmp.Or(own, g.modelOfAgent(s.Agent), g.bindings[k.Channel()].modelFor(k))
	return s
}

// modelOfAgent is the model that a persona names, or "".
func (g *Gateway) modelOfAgent(name string) string {
	if p := g.persona(name); p != nil {
		return p.Model
	}
	return ""
}

// persona is the persona of that name, or nil.
func (g *Gateway) persona(name string) *agent.Persona {
	if name == "" || g.opts.Agents == nil {
		return nil
	}
	return g.opts.Agents.Persona(name)
}

// settingsOf are the settings of k, with the persona and the model that answer there.
func (g *Gateway) settingsOf(ctx context.Context, k channels.Key) (sessions.Settings, error) {
	c, err := g.store.Conversation(ctx, k)
	if errors.Is(err, sessions.ErrNotFound) {
		err = nil
	}
	return g.resolved(k, c.Settings), err
}

// ownMemory is the name of the persona that answers with these settings, if it has a memory
// of its own; else "".
func (g *Gateway) ownMemory(s sessions.Settings) string {
	if p := g.persona(s.Agent); p != nil && p.OwnMemory {
		return p.Name
	}
	return ""
}

// settings are those of a job's turn: it runs as the persona that its job names, or else as
// that of the conversation that it tells.
func (j *job) settings(ctx context.Context, g *Gateway, k channels.Key) (s sessions.Settings, err error) {
	if g.opts.Agents == nil {
		return s, nil
	}
	if len(g.opts.Agents.Choices(k)) == 0 || j.reminder != "" {
		told, err := g.settingsOf(ctx, j.target)
		if err != nil {
			return s, err
		}
		s.Agent = told.Agent
	} else {
		s.Agent = g.opts.Agents.Of(k, "")
	}
	s.Model = g.modelOfAgent(s.Agent)
	return s, nil
}

const sayOneAgent = "Nobody else answers here: the configuration binds no persona to this chat."

// chooseAgent answers /agent: it lists the personas, or chooses one for the conversation. The
// conversation goes on, and the model reads that another one speaks now.
func (g *Gateway) chooseAgent(ctx context.Context, m channels.Inbound) error {
	e := sessions.Entry{Inbound: m}
	if g.opts.Agents == nil || len(g.opts.Agents.Choices(m.Key)) == 0 {
		return g.answerCommand(ctx, e, sayOneAgent)
	}
	h, err := g.history(ctx, m.Key)
	if err != nil {
		return fmt.Errorf("gateway: agent of %s: %w", m.Key, err)
	}
	choices := g.opts.Agents.Choices(m.Key)
	name := strings.TrimSpace(arguments(m.Text))
	if name == "" {
		how, err := g.howToChoose(ctx, m, "agent", choices[len(choices)-1])
		if err != nil {
			return fmt.Errorf("gateway: agent of %s: %w", m.Key, err)
		}
		return g.answerCommand(ctx, e, g.listAgents(choices, h.Settings.Agent)+how)
	}
	chosen, say := findAgent(choices, name)
	if say != "" {
		return g.answerCommand(ctx, e, say)
	}
	say, err = g.choose(ctx, m, "agent", func(s *sessions.Settings) { s.Agent = chosen })
	if err != nil {
		return err
	}
	if say != "" {
		return g.answerCommand(ctx, e, say)
	}
	now := g.opts.Agents.Of(m.Key, chosen)
	if h.Generation != "" && now != h.Settings.Agent {
		e.Append = []sessions.Message{agentNote(h.Settings.Agent, now)}
	}
	return g.answerCommand(ctx, e, fmt.Sprintf("From the next answer on, %s writes here.", shownAgent(now)))
}

// agentNote is what a conversation remembers of a change of its persona.
func agentNote(was, now string) sessions.Message {
	return sessions.Message{
		Role: sessions.RoleUser, Synthetic: true,
		Content: fmt.Sprintf("[From here on %s answers in this conversation. The answers before are those of %s.]", shownAgent(now), shownAgent(was)),
	}
}

// listAgents says which personas there are and which one answers now.
func (g *Gateway) listAgents(choices []string, now string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s answers here. These can be chosen:\n\n", shownAgent(now))
	for _, name := range choices {
		fmt.Fprintf(&b, "- %s", name)
		if model := g.modelOfAgent(name); model != "" {
			fmt.Fprintf(&b, ", with the model %s", model)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return b.String()
}

// findAgent is the persona that a person means, "" for the default one. say, if not "", is why
// it is not clear which one that is.
func findAgent(choices []string, name string) (found, say string) {
	name = strings.ToLower(name)
	if name == byDefault {
		return "", ""
	}
	var near []string
	for _, one := range choices {
		if one == name {
			return one, ""
		}
		if strings.Contains(one, name) {
			near = append(near, one)
		}
	}
	if len(near) == 1 {
		return near[0], ""
	}
	if len(near) == 0 {
		near = choices
	}
	return "", fmt.Sprintf("It is not clear who “%s” is. Choose one of %s.", clipText(name, maxDroppedBytes), strings.Join(near, ", "))
}

// ChooseAgent lets a persona answer in k from the next message on, as /agent does. Errors are
// [*RefusedError] if it may not answer there, and the store's.
func (g *Gateway) ChooseAgent(ctx context.Context, k channels.Key, name string) error {
	h, err := g.history(ctx, k)
	if err != nil {
		return fmt.Errorf("gateway: agent of %s: %w", k, err)
	}
	if err := g.MayAnswer(k, name); err != nil {
		return err
	}
	if shownAgent(h.Settings.Agent) == name {
		return nil
	}
	err = g.store.Configure(ctx, k, func(s *sessions.Settings) error {
		s.Agent = name
		return nil
	})
	if err != nil || h.Generation == "" {
		return err
	}
	id := onceID("agent", k.String(), name, fmt.Sprint(h.Generation, len(h.Messages)+h.Omitted))
	_, err = g.store.Accept(ctx, sessions.Entry{
		Inbound: channels.Inbound{Key: k, ID: id, At: g.opts.Now()}, Source: sessions.SourceNotice, Answered: true,
		Append: []sessions.Message{agentNote(h.Settings.Agent, g.opts.Agents.Of(k, name))},
	})
	return err
}

// MayAnswer is a [*RefusedError] if the persona of that name may not answer in k; else nil.
func (g *Gateway) MayAnswer(k channels.Key, name string) error {
	if g.opts.Agents == nil {
		return &RefusedError{Why: "there are no personas here"}
	}
	if shownAgent(g.opts.Agents.Of(k, name)) == name {
		return nil
	}
	choices := g.opts.Agents.Choices(k)
	if len(choices) == 0 {
		return &RefusedError{Why: fmt.Sprintf("there is no persona %s here", clipText(name, maxDroppedBytes))}
	}
	return &RefusedError{Why: fmt.Sprintf("%s does not answer in this conversation; %s can", clipText(name, maxDroppedBytes), strings.Join(choices, ", "))}
}
