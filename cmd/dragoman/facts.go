package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/internal/httpapi"
	"dragoman/sessions"
)

type sessionsFactsCmd struct {
	Target string `arg:"" help:"A conversation's key, a person like telegram:123456, or the name of a paired person."`
	Forget int64  `placeholder:"ID" help:"Forget the fact with this number."`
	jsonFlag
}

func (k *sessionsFactsCmd) Run(e *env, c *cli) error {
	if k.Forget != 0 {
		return e.withAdmin(c, func(ctx context.Context, a *httpapi.Client) error {
			err := httpapi.Forget.Call(ctx, a, httpapi.Fact{Target: k.Target, ID: k.Forget})
			if errors.Is(err, sessions.ErrNotFound) {
				return &usageError{fmt.Sprintf("there is no fact number %d about %s; %s lists all of them", k.Forget, oneLine(k.Target), e.command("sessions facts", k.Target))}
			}
			if err == nil {
				e.say("Forgotten.")
			}
			return err
		})
	}
	return list(e, c, k.JSON, httpapi.ListFacts, k.Target, func(facts []httpapi.Remembered) {
		if len(facts) == 0 {
			e.say("Dragoman remembers nothing about %s.", oneLine(k.Target))
		}
		for _, f := range facts {
			whose := "" // a paired person can have several ids, each with its own facts
			if person, ok := strings.CutPrefix(f.Scope, "person:"); ok && person != k.Target {
				whose = fmt.Sprintf("  (%s)", oneLine(person))
			}
			e.say("%d  %s  %s%s", f.ID, f.At.Local().Format("2006-01-02"), oneLine(f.Text), whose)
		}
	})
}
