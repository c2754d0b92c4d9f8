package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

// askCmd is "dragoman ask": one question to the running daemon, whose answer is
// printed. Unlike "chat", its conversation is one that scripts name.
type askCmd struct {
	Question []string      `arg:"" help:"The question; - reads it from standard input."`
	Key      string        `placeholder:"KEY" default:"cli:direct" help:"The conversation (${default})."`
	Wait     time.Duration `placeholder:"TIME" default:"5m" help:"How long to wait for the answer (${default}, at most 1h)."`
	Model    string        `placeholder:"NAME" help:"The model that answers this question alone, one of those of dragoman.yaml."`
	ID       string        `placeholder:"ID" help:"A name for the question. Asking again with the same name only waits for its answer."`
	jsonFlag
}

func (*askCmd) Help() string {
	return "The question and its answer become part of the conversation, and the chat gets the answer too. " +
		"The daemon must be running; without it, use dragoman chat.\n\n" + example(`ask "Summarise the week." --key telegram:123456`)
}

func (k *askCmd) Run(e *env, c *cli) error {
	to, err := e.parseKey(k.Key)
	if err != nil {
		return err
	}
	if err := k.misplaced(e, c); err != nil {
		return err
	}
	text := strings.Join(k.Question, " ")
	if text == "-" {
		all, err := io.ReadAll(e.in)
		if err != nil {
			return fmt.Errorf("read the question: %w", err)
		}
		text = string(all)
	}
	id := cmp.Or(k.ID, rand.Text())
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		var got api.Asked
		err := e.whileWaiting(ctx, c, a, to, func() (err error) {
			got, err = api.PutQuestion.Call(ctx, a, api.Question{Key: to, ID: id, Text: text, Model: k.Model, Wait: k.Wait.String()})
			return err
		})
		switch {
		case errors.Is(err, api.ErrNoDaemon):
			return fmt.Errorf("%w: start it with %s, or use %s", err, e.startHint(c), e.command("chat"))
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("no answer within %s; the question is still waiting. To keep waiting: %s", k.Wait, e.command("ask", text, "--key", k.Key, "--id", id))
		case err != nil:
			return err
		case k.JSON:
			return e.json(got)
		}
		e.say("%s", sessions.Printable(got.Answer))
		return nil
	})
}

// misplaced returns an error if the question begins with the key of a conversation, where
// other commands take one. It may do so within quotes.
func (k *askCmd) misplaced(e *env, c *cli) error {
	key, err := channels.ParseKey(k.Question[0])
	if err != nil || len(k.Question) == 1 {
		return nil
	}
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil || !slices.Contains(cfg.Active(), key.Channel()) {
		return nil
	}
	return &usageError{fmt.Sprintf("%s is a conversation, not a question; write: %s", oneLine(key.String()),
		e.command("ask", strings.Join(k.Question[1:], " "), "--key", key.String()))}
}
