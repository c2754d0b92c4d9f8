package main

import (
	"context"
	"strings"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/config"
)

const (
	// completeWithin bounds how long somebody waits after Tab.
	completeWithin = 2 * time.Second
	// mostCompleted bounds how many values come up.
	mostCompleted = 100
)

// value is something that may come next on a command line.
type value struct {
	word, help string
}

// running are the arguments and flags whose values only a running daemon knows, by name.
var running = map[string]func(ctx context.Context, a *api.Client) ([]value, error){
	"key":    conversationKeys,
	"target": conversationKeys,
	"id":     queueIDs,
	"code":   pairingCodes,
}

// sayRunning prints what list returns from the daemon of the configuration that the words
// name, if it runs. A completion never opens a store itself.
func (e *env) sayRunning(words []string, list func(ctx context.Context, a *api.Client) ([]value, error)) {
	cfg, src, err := e.daemon.load(config.Options{Path: namedConfig(words), NoSecrets: true})
	if err == nil {
		src = config.Source{Path: cfg.Source().Path, StateDir: cfg.StateDir}
	}
	ctx, cancel := context.WithTimeout(e.ctx, completeWithin)
	defer cancel()
	client, release, ok := app.Running(ctx, src)
	if !ok {
		return
	}
	defer release()
	all, err := list(ctx, client)
	if err != nil {
		return // the line can be typed all the same
	}
	for _, v := range all {
		e.say("%s:%s", strings.ReplaceAll(oneLine(v.word), ":", `\:`), oneLine(v.help))
	}
}

// namedConfig is the value of --config among words, or "".
func namedConfig(words []string) (path string) {
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		switch {
		case name != "-c" && name != "--config":
		case joined:
			path = value
		case i+1 < len(words):
			path = words[i+1]
		}
	}
	return path
}

func conversationKeys(ctx context.Context, a *api.Client) (all []value, err error) {
	page, err := api.Find.Call(ctx, a, api.ConversationQuery{Limit: mostCompleted})
	for _, c := range page.Data {
		all = append(all, value{c.Key.String(), c.Title})
	}
	return all, err
}

func queueIDs(ctx context.Context, a *api.Client) (all []value, err error) {
	page, err := api.ListQueue.Call(ctx, a, api.QueueQuery{Limit: mostCompleted})
	for _, i := range page.Data {
		all = append(all, value{i.ID, i.State})
	}
	return all, err
}

func pairingCodes(ctx context.Context, a *api.Client) (all []value, err error) {
	page, err := api.ListPairings.Call(ctx, a, api.Limited{Limit: mostCompleted})
	for _, p := range page.Data {
		if p.Code != "" {
			all = append(all, value{p.Code, p.Name + " on " + p.Channel})
		}
	}
	return all, err
}
