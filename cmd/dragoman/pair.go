package main

import (
	"context"
	"errors"
	"fmt"

	"dragoman/internal/api"
	"dragoman/sessions"
)

// pairCmd is "dragoman pair": strangers who ask to be let in.
type pairCmd struct {
	List    pairListCmd    `cmd:"" default:"withargs" help:"List who was let in and who is asking."`
	Approve pairApproveCmd `cmd:"" help:"Let the person with this code in."`
	Refuse  pairRefuseCmd  `cmd:"" help:"Refuse whoever has this code. They get another one if they write again."`
	Remove  pairRemoveCmd  `cmd:"" help:"Shut a person out again."`
}

// pairListCmd is "dragoman pair list", and "dragoman pair" alone.
type pairListCmd struct {
	jsonFlag
}

func (k *pairListCmd) Run(e *env, c *cli) error {
	return listAll(e, c, k.JSON, api.ListPairings, 0, limited, func(all api.Page[api.Pairing]) {
		if len(all.Data) == 0 {
			e.say("Nobody is paired, and nobody is asking. A channel with pairing: true gives strangers a code.")
			return
		}
		t := &table{head: []string{"CHANNEL", "PERSON", "NAME", "STATE", "CODE"}, less: []int{2, 3}}
		for _, p := range all.Data {
			state := "let in " + e.when(p.Approved)
			if p.Approved.IsZero() {
				state = "asks; the code expires " + e.when(p.Expires)
			}
			t.add(p.Channel, p.PersonID, p.Name, state, p.Code)
		}
		t.print(e)
	})
}

// pairApproveCmd is "dragoman pair approve": it lets a person in by the code they
// were sent.
type pairApproveCmd struct {
	Code string `arg:"" help:"The code that the person was given. Case and dashes do not matter."`
}

func (k *pairApproveCmd) Run(e *env, c *cli) error {
	return answerRequest(e, c, api.ApprovePairing, k.Code, func(p api.Pairing) string {
		name := oneLine(p.Name)
		if name != "" {
			name = fmt.Sprintf(" (calls themselves %q)", name)
		}
		return fmt.Sprintf("%s%s may talk on %s now.", oneLine(p.PersonID), name, p.Channel)
	})
}

// pairRefuseCmd is "dragoman pair refuse": it refuses a person by the code they were sent.
type pairRefuseCmd struct {
	Code string `arg:"" help:"The code that the person was given. Case and dashes do not matter."`
}

func (k *pairRefuseCmd) Run(e *env, c *cli) error {
	return answerRequest(e, c, api.RefusePairing, k.Code, func(p api.Pairing) string {
		return fmt.Sprintf("%s on %s is refused.", oneLine(p.PersonID), p.Channel)
	})
}

// answerRequest answers the request with this code, and says what came of it.
func answerRequest(e *env, c *cli, verb api.Verb[api.Code, api.Pairing], code string, outcome func(api.Pairing) string) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		p, err := verb.Call(ctx, a, api.Code{Code: code})
		if errors.Is(err, sessions.ErrNotFound) {
			return noSuchCode(e)
		}
		if err != nil {
			return err
		}
		e.say("%s", outcome(p))
		return nil
	})
}

// noSuchCode says why a code of a person may lead to nobody.
func noSuchCode(e *env) error {
	return fmt.Errorf("no open request has this code: it was used already, has expired, or is mistyped; %s shows all", e.command("pair list"))
}

// pairRemoveCmd is "dragoman pair remove": it shuts out a person who was let in.
type pairRemoveCmd struct {
	Channel string `arg:"" help:"The channel, like telegram."`
	Person  string `arg:"" help:"The person's id (see dragoman pair list)."`
}

func (k *pairRemoveCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		err := api.Unpair.Call(ctx, a, api.Paired{Channel: k.Channel, Person: k.Person})
		if errors.Is(err, sessions.ErrNotFound) {
			return plainErrorf(nil, "%s is not paired on %s; %s shows all", oneLine(k.Person), oneLine(k.Channel), e.command("pair list"))
		}
		if err != nil {
			return err
		}
		e.say("%s may no longer talk on %s, unless allow lists them.", oneLine(k.Person), oneLine(k.Channel))
		return nil
	})
}
