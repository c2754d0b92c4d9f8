package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
)

// lookWhether is how often to look whether a conversation waits for somebody.
const lookWhether = time.Second

// whileWaiting runs call, and says on standard error what the conversation k asks somebody
// meanwhile: nobody can answer that here.
func (e *env) whileWaiting(ctx context.Context, c *cli, a *api.Client, k channels.Key, call func() error) error {
	watching, end := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { e.sayAsked(watching, c, a, k) })
	err := call()
	end()
	watch.Wait()
	return err
}

// sayAsked says what the conversation k asks and where to answer, each question once, until ctx
// ends.
func (e *env) sayAsked(ctx context.Context, c *cli, a *api.Client, k channels.Key) {
	look := time.NewTicker(lookWhether)
	defer look.Stop()
	var told time.Time // when the question was asked that was told last
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		now, err := api.ReadConversation.Call(ctx, a, api.About{Key: k})
		if err != nil || now.Waiting == 0 || now.Last == nil || now.Last.At.Equal(told) {
			continue // an error is the call's to report
		}
		switch channels.Kind(now.Last.Kind) {
		case channels.KindQuestion:
			e.warn("no answer yet: it waits for a yes%s. To say yes or no: %s", codes(ctx, a, k), e.answeredAt(c, k, true))
		case channels.KindForm:
			e.warn("no answer yet: a server of tools asks something. To answer: %s", e.answeredAt(c, k, false))
		case channels.KindNotice: // a rule lets it wait: a pause, or a budget
			e.warn("no answer yet: %s", oneLine(now.Last.Text))
		default:
			continue
		}
		told = now.Last.At
	}
}

// warn says something on standard error, while a command goes on.
func (e *env) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(e.err, "dragoman: "+format+"\n", args...)
}

// codes names the questions that wait for a yes in a conversation.
func codes(ctx context.Context, a *api.Client, k channels.Key) string {
	list, err := api.ListApprovals.Call(ctx, a, api.ApprovalQuery{Key: k, Pending: true})
	if err != nil || len(list.Data) == 0 {
		return ""
	}
	var said []string
	for _, q := range list.Data {
		said = append(said, q.Tool+", "+q.Code)
	}
	return " (" + oneLine(strings.Join(said, "; ")) + ")"
}

// answeredAt says where a question of the conversation k is answered. The page answers those for
// a yes in all conversations.
func (e *env) answeredAt(c *cli, k channels.Key, yes bool) string {
	cfg, err := e.loadWithoutSecrets(c.Config)
	network := k.Channel()
	hasPage := false
	if err == nil {
		network = cmp.Or(cfg.Channels[network].Type, network)
		hasPage = cfg.HTTP.Listen != "off"
	}
	at := "in the chat " + oneLine(k.String())
	switch network {
	case "web":
		return "on the page, in the room " + oneLine(k.Chat())
	case "cli":
		at = e.command("chat")
		if k.Chat() != "direct" {
			at = e.command("chat", "--room", k.Chat())
		}
	}
	if yes && hasPage {
		at += ", or on the page under For you"
	}
	return at
}
