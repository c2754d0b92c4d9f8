package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// tokenCmd is the command "token" with its verbs.
type tokenCmd struct {
	List   tokenListCmd   `cmd:"" default:"withargs" help:"List the tokens, and when each was used last."`
	Create tokenCreateCmd `cmd:"" help:"Make a token and show it, once."`
	Rotate tokenRotateCmd `cmd:"" help:"Give a token a new secret and show it, once."`
	Revoke tokenRevokeCmd `cmd:"" help:"End a token, and within seconds whatever it let in."`
}

// scopeList is what --scope takes, as the tag enum has it.
func scopeList() string {
	var words []string
	for _, s := range people.Scopes() {
		words = append(words, string(s))
	}
	return strings.Join(words, ",")
}

// personFlag says whose token it is.
type personFlag struct {
	Person string `placeholder:"ID" help:"Whose it is, like telegram:123456. Default: operator, who runs Dragoman."`
}

// tokenListCmd lists the tokens.
type tokenListCmd struct {
	jsonFlag
}

func (k *tokenListCmd) Run(e *env, c *cli) error {
	return listPage(e, c, k.JSON, api.ListTokens, api.None{}, func(all api.Page[api.Token]) {
		if len(all.Data) == 0 {
			e.say("No tokens. To make one: %s", e.command("token create NAME --scope chat"))
			return
		}
		t := &table{head: []string{"NAME", "PERSON", "SCOPE", "BEGINS", "STATE", "LAST USED"}, less: []int{3, 5}}
		for _, one := range all.Data {
			t.add(one.Name, one.Person, one.Scope, one.Begins, e.tokenState(one), e.lastUse(one))
		}
		t.print(e)
	})
}

// lastUse says when a token was last used, as exactly as that is kept: to the hour.
func (e *env) lastUse(t api.Token) string {
	switch {
	case t.LastUsed.IsZero():
		return "never"
	case e.now().Sub(t.LastUsed) < time.Hour:
		return "within the hour"
	}
	return e.when(t.LastUsed)
}

// tokenState says whether a token is good, and until when.
func (e *env) tokenState(t api.Token) string {
	state := "good"
	switch {
	case !t.Revoked.IsZero():
		return "revoked " + e.when(t.Revoked)
	case t.Expires.IsZero():
	case !t.Expires.After(e.now()):
		return "expired " + e.when(t.Expires)
	default:
		state += ", expires " + e.when(t.Expires)
	}
	if t.Page {
		state += " (a page, opened by a link)"
	}
	if !t.Grace.IsZero() {
		state += "; the secret before ends " + e.when(t.Grace)
	}
	return state
}

// tokenCreateCmd makes a token.
type tokenCreateCmd struct {
	Name string `arg:"" help:"Its name, like laptop."`
	personFlag
	Scope   string `placeholder:"SCOPE" required:"" enum:"${scopes}" help:"chat (one's own conversations), read (also the state and the numbers of all), operate (also the queue, jobs, pairings, deleting) or admin (also tokens, phones, erasing)."`
	Expires string `placeholder:"TIME" help:"How long it is good, like 90d or 12h. Default: until it is revoked."`
	jsonFlag
}

func (k *tokenCreateCmd) Run(e *env, c *cli) error {
	lasts, err := parseSpan("--expires", k.Expires)
	if err != nil {
		return err
	}
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		made, err := api.CreateToken.Call(ctx, a, api.NewToken{Name: k.Name, Person: k.Person, Scope: k.Scope, ExpiresIn: int64(lasts.Seconds())})
		if err != nil {
			return err
		}
		if err := e.showSecret(made, k.JSON); err != nil {
			return err
		}
		cfg, err := e.loadWithoutSecrets(c.Config)
		if err != nil || cfg.HTTP.Token.IsSet() {
			return nil // the page asks for one already
		}
		all, err := api.ListTokens.Call(ctx, a, api.None{})
		if err == nil && len(all.Data) == 1 {
			_, _ = fmt.Fprintf(e.err, "It is the first one: the page asks for a token from now on, also on this machine. To open it: %s\n", e.command("console"))
		}
		return nil
	})
}

// showSecret prints a secret alone on standard output, so that it can be piped
// into a file, and what people should know beside it.
func (e *env) showSecret(made api.MadeToken, asJSON bool) error {
	if asJSON {
		return e.json(made)
	}
	e.say("%s", made.Secret)
	until := "It is good until it is revoked."
	if !made.Expires.IsZero() {
		until = "It expires " + e.when(made.Expires) + "."
	}
	if !made.Grace.IsZero() {
		until += " The secret before it ends " + e.when(made.Grace) + "."
	}
	_, _ = fmt.Fprintf(e.err, "This is the token %s of %s, with the scope %s. It is shown only now. %s\n", oneLine(made.Name), oneLine(made.Person), made.Scope, until)
	return nil
}

// tokenRotateCmd gives a token a new secret.
type tokenRotateCmd struct {
	Name string `arg:"" help:"The token's name."`
	personFlag
	Grace string `placeholder:"TIME" default:"24h" help:"How long the secret before it is still good (${default}; 0: no longer)."`
	jsonFlag
}

func (k *tokenRotateCmd) Run(e *env, c *cli) error {
	grace, err := parseSpan("--grace", k.Grace)
	if err != nil {
		return err
	}
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		made, err := api.RotateToken.Call(ctx, a, api.Rotation{Name: k.Name, Person: k.Person, Grace: int64(grace.Seconds())})
		if err != nil {
			return e.tokenError(k.Name, err)
		}
		return e.showSecret(made, k.JSON)
	})
}

// tokenRevokeCmd ends a token.
type tokenRevokeCmd struct {
	Name string `arg:"" help:"The token's name."`
	personFlag
}

func (k *tokenRevokeCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		ended, err := api.RevokeToken.Call(ctx, a, api.TokenName{Name: k.Name, Person: k.Person})
		if err != nil {
			return e.tokenError(k.Name, err)
		}
		e.say("The token %s of %s lets nobody in any more.", oneLine(ended.Name), oneLine(ended.Person))
		return nil
	})
}

// tokenError says how to find a token that there is not.
func (e *env) tokenError(name string, err error) error {
	if errors.Is(err, sessions.ErrNotFound) {
		return fmt.Errorf("there is no token %s; %s shows all", oneLine(name), e.command("token list"))
	}
	return err
}

// parseSpan reads "90d", "12h" or "30m"; "" and 0, with or without a unit, are no time.
func parseSpan(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.Atoi(days)
		if err == nil && n >= 0 && n <= 36500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, &usageError{flag + " wants a time, like 90d, 12h or 30m"}
	}
	return d, nil
}

// consoleCmd prints a link to the page.
type consoleCmd struct {
	jsonFlag
}

// Run prints a link that the browser of whoever runs Dragoman opens. The secret
// is behind its "#", which browsers send to nobody.
func (k *consoleCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		link, err := api.MakeConsoleLink.Call(ctx, a, api.None{})
		switch {
		case errors.Is(err, api.ErrNoDaemon):
			return fmt.Errorf("no page is being served: start the daemon with %s, and see that http.listen is not off", e.startHint(c))
		case err != nil:
			return err
		case k.JSON:
			return e.json(link)
		}
		e.say("%s", link.URL)
		_, _ = fmt.Fprintln(e.err, "Open this link within a minute. It works once, and opens the page as the operator.")
		return nil
	})
}
