package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// Model is a model that people can choose for a conversation.
type Model struct {
	Name string
	// Window is its context window in tokens, 0 if that is not known.
	Window int
	// Input and Output are what a million tokens cost, 0 if that is not known.
	Input, Output float64
}

// byDefault removes a choice.
const byDefault = "default"

// asConfigured is how much a model thinks if nobody chose that.
const asConfigured = "as much as it is configured to"

const (
	sayMayNotChoose = "Only whoever runs me%s can change that in a shared chat."
	sayOneModel     = "There is only one model here."
)

// chooseModel answers /model: it lists the models, or chooses one for the conversation.
func (g *Gateway) chooseModel(ctx context.Context, m channels.Inbound) (string, error) {
	models := g.opts.Models()
	if len(models) < 2 {
		return sayOneModel, nil
	}
	h, err := g.history(ctx, m.Key)
	if err != nil {
		return "", fmt.Errorf("gateway: model of %s: %w", m.Key, err)
	}
	now := g.modelOf(h)
	name := strings.TrimSpace(arguments(m.Text))
	if name == "" {
		how, err := g.howToChoose(ctx, m, "model", models[len(models)-1].Name)
		return listModels(models, now) + how, err
	}
	chosen, say := findModel(models, name)
	if say != "" {
		return say, nil
	}
	say, err = g.choose(ctx, m, "model", func(s *sessions.Settings) { s.Model = chosen.Name })
	if say != "" || err != nil {
		return say, err
	}
	h, err = g.history(ctx, m.Key)
	if err != nil {
		return "", fmt.Errorf("gateway: model of %s: %w", m.Key, err)
	}
	text := fmt.Sprintf("From the next answer on, %s writes here.", g.modelOf(h))
	i := slices.IndexFunc(models, func(o Model) bool { return o.Name == now })
	if i >= 0 && chosen.Window > 0 && chosen.Window < models[i].Window {
		text += fmt.Sprintf(" It reads %s at once, less than %s: what no longer fits is summarised first.", tokens(chosen.Window), now)
	}
	return text, nil
}

// listModels says which models there are and which one answers now. How to choose follows.
func listModels(models []Model, now string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s answers here. These can be chosen:\n\n", now)
	for _, m := range models {
		fmt.Fprintf(&b, "- %s", m.Name)
		if m.Window > 0 {
			fmt.Fprintf(&b, ", reads %s at once", tokens(m.Window))
		}
		if m.Input > 0 || m.Output > 0 {
			fmt.Fprintf(&b, ", %g in and %g out for a million tokens", m.Input, m.Output)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return b.String()
}

// howToChoose ends a list of what can be chosen in the chat of m: how, or who may.
func (g *Gateway) howToChoose(ctx context.Context, m channels.Inbound, command, example string) (string, error) {
	may, err := g.mayChange(ctx, m)
	if !may {
		return g.mayNotChange(m.Key), err
	}
	return fmt.Sprintf("Write it after the command, like /%[1]s %[2]s. /%[1]s %[3]s takes the choice back.", command, example, byDefault), err
}

// tokens is a number of tokens as people read it.
func tokens(n int) string {
	if n < 10_000 {
		return fmt.Sprintf("%d tokens", n)
	}
	return fmt.Sprintf("%dk tokens", n/1000)
}

// findModel is the model that a person means, its Name "" for the configured one. say, if
// not "", is why it is not clear which one that is.
func findModel(models []Model, name string) (found Model, say string) {
	if strings.EqualFold(name, byDefault) {
		return Model{}, ""
	}
	var near []Model
	for _, m := range models {
		if strings.EqualFold(m.Name, name) {
			return m, ""
		}
		if strings.Contains(strings.ToLower(m.Name), strings.ToLower(name)) {
			near = append(near, m)
		}
	}
	if len(near) == 1 {
		return near[0], ""
	}
	if len(near) == 0 {
		near = models
	}
	var names []string
	for _, m := range near {
		names = append(names, m.Name)
	}
	return Model{}, fmt.Sprintf("It is not clear which model “%s” is. Choose one of %s.", clipText(name, maxDroppedBytes), strings.Join(names, ", "))
}

// knownModel refuses a name that is none of the models that answer people. "" is the
// conversation's own.
func (g *Gateway) knownModel(name string) error {
	var names []string
	for _, m := range g.opts.Models() {
		names = append(names, m.Name)
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return &RefusedError{Why: fmt.Sprintf("there is no model %s here; there is %s", clipText(name, maxDroppedBytes), strings.Join(names, ", "))}
}

// chooseThinking answers /think: it says how much the model thinks, or changes that.
func (g *Gateway) chooseThinking(ctx context.Context, m channels.Inbound) (string, error) {
	level := strings.ToLower(strings.TrimSpace(arguments(m.Text)))
	all := strings.Join(sessions.ReasoningLevels, ", ")
	if level == "" {
		h, err := g.history(ctx, m.Key)
		if err != nil {
			return "", fmt.Errorf("gateway: thinking of %s: %w", m.Key, err)
		}
		now := cmp.Or(h.Settings.Reasoning, asConfigured)
		how, err := g.howToChoose(ctx, m, "think", "high")
		return fmt.Sprintf("The model thinks here: %s. There is %s. %s", now, all, how), err
	}
	if level != byDefault && !slices.Contains(sessions.ReasoningLevels, level) {
		return fmt.Sprintf("“%s” is none of %s, %s.", clipText(level, maxDroppedBytes), all, byDefault), nil
	}
	say, err := g.choose(ctx, m, "reasoning", func(s *sessions.Settings) {
		s.Reasoning = level
		if level == byDefault {
			s.Reasoning = ""
		}
	})
	if say != "" || err != nil {
		return say, err
	}
	if level == byDefault {
		level = asConfigured
	}
	return fmt.Sprintf("From the next answer on, the model thinks here: %s.", level), nil
}

// mayChange reports whether the author of m may change how this chat is answered: in a
// private chat everybody may, in a shared one whoever runs Dragoman and who approves.
func (g *Gateway) mayChange(ctx context.Context, m channels.Inbound) (bool, error) {
	if m.Private {
		return true, nil
	}
	may, err := g.opts.People.IsOperator(ctx, m)
	if may || err != nil || g.opts.Actions == nil {
		return may, err
	}
	who, err := g.whoIs(ctx, m)
	return err == nil && g.opts.Actions.Approves(who), err
}

// mayNotChange says who may in the chat k. Who they are on other networks, such as their phone
// numbers, concerns nobody here.
func (g *Gateway) mayNotChange(k channels.Key) string {
	var here []string
	if g.opts.Actions != nil {
		here = slices.DeleteFunc(g.opts.Actions.Approvers(), func(id string) bool { return !strings.HasPrefix(id, k.Channel()+":") })
	}
	approvers := ""
	if len(here) > 0 {
		approvers = " or approves here (" + strings.Join(here, ", ") + ")"
	}
	return fmt.Sprintf(sayMayNotChoose, approvers)
}

// choose changes the settings of the conversation for the author of m, if they may.
// say is why not.
func (g *Gateway) choose(ctx context.Context, m channels.Inbound, what string, change func(*sessions.Settings)) (say string, err error) {
	may, err := g.mayChange(ctx, m)
	if err != nil {
		return "", fmt.Errorf("gateway: %s of %s: %w", what, m.Key, err)
	}
	if !may {
		return g.mayNotChange(m.Key), nil
	}
	err = g.opts.Audit(what, func() error {
		return g.store.Configure(ctx, m.Key, func(s *sessions.Settings) error {
			change(s)
			return nil
		})
	}, m.Key)
	switch {
	case errors.Is(err, sessions.ErrFenced), ctx.Err() != nil:
		return "", err
	case err != nil:
		// As for a title: without an answer the network would hand in the command for ever.
		g.log(m.Key).Error("a setting was not changed", "setting", what, "err", err)
		return "Sorry, I could not change that. Please try again later.", nil
	}
	return "", nil
}
