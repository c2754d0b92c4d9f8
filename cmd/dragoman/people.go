package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/internal/api"
	"dragoman/sessions"
)

// peopleCmd is "dragoman people": which identities are one person's.
type peopleCmd struct {
	List peopleListCmd `cmd:"" default:"withargs" help:"List the people whose identities were joined or connected."`
	Join peopleJoinCmd `cmd:"" help:"Make one person of two identities, after a question."`
	Part peoplePartCmd `cmd:"" help:"Make an identity a person of its own again."`
}

// peopleListCmd is "dragoman people list", and "dragoman people" alone.
type peopleListCmd struct {
	jsonFlag
}

func (k *peopleListCmd) Run(e *env, c *cli) error {
	part := func(after string, limit int) api.PeopleQuery {
		return api.PeopleQuery{Several: true, After: after, Limit: limit}
	}
	return listAll(e, c, k.JSON, api.ListPeople, 0, part, func(all api.Page[api.Person]) {
		if len(all.Data) == 0 {
			e.say("Nobody's identities were joined: each is a person of its own. To join two: %s", e.command("people join telegram:123456 irc:account:ann"))
			return
		}
		t := &table{head: []string{"PERSON", "IDENTITY", "SINCE", "HOW"}}
		for _, p := range all.Data {
			for _, l := range p.Links {
				t.add(p.ID, l.Identity, l.Since.Local().Format(time.DateOnly), howLinked(l))
			}
		}
		t.print(e)
	})
}

// howLinked says who made an identity one of several.
func howLinked(l api.Linked) string {
	if l.Connected {
		return "connected by themselves: its rights are its own"
	}
	return "joined by whoever runs Dragoman"
}

// peopleJoinCmd is "dragoman people join".
type peopleJoinCmd struct {
	One   string `arg:"" help:"An identity of a network, like telegram:123456, or operator."`
	Other string `arg:"" help:"Another identity of the same person."`
	Yes   bool   `short:"y" help:"Do not ask."`
}

func (*peopleJoinCmd) Help() string {
	return `Join two identities only if you know that one person has both: their tokens then read the private talks of both, and erasing one erases the other. ` +
		`"dragoman people part" undoes it.`
}

func (k *peopleJoinCmd) Run(e *env, c *cli) error {
	question := fmt.Sprintf("Are %s and %s one person? They will read each other's private talks, and are erased together.", oneLine(k.One), oneLine(k.Other))
	if err := e.confirm(k.Yes, question); err != nil {
		return err
	}
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		if err := api.JoinPeople.Call(ctx, a, api.Identities{One: k.One, Other: k.Other}); err != nil {
			return err
		}
		e.say("%s and %s are one person now.", oneLine(k.One), oneLine(k.Other))
		return nil
	})
}

// peoplePartCmd is "dragoman people part".
type peoplePartCmd struct {
	Identity string `arg:"" help:"The identity, like telegram:123456 (see dragoman people list)."`
}

func (k *peoplePartCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		err := api.PartPeople.Call(ctx, a, api.OneIdentity{Identity: k.Identity})
		if errors.Is(err, sessions.ErrNotFound) {
			return plainErrorf(nil, "%s was joined with nothing; %s shows all", oneLine(k.Identity), e.command("people list"))
		}
		if err != nil {
			return err
		}
		e.say("%s is a person of its own again.", oneLine(k.Identity))
		return nil
	})
}
