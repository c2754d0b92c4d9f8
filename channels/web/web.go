// Package web is the chat page's channel: the daemon's end of it. The page
// itself, and the question who may open it, are the console's.
//
// Everything it promises is package live's promise. Its rooms are the keys
// "web:default", "web:work" and so on, one for each ?room= that somebody
// opens. It starts no goroutines.
package web

import (
	"context"
	"log/slog"

	"dragoman/channels/live"
)

// Room is the room of a page that names none.
const Room = "default"

// Options configure the channel. Feed must be set.
type Options struct {
	// Name is the channel instance. "": "web".
	Name    string
	Feed    live.Feed
	MaxText int        // bytes of one message; 0: see package live
	Files   live.Files // nil: no files can be sent
	MaxFile int64      // bytes of one file
	// Thoughts shows on the page what the model thinks while it works.
	Thoughts bool
	// Others tells the pages of other nodes; see [live.Options].
	Others func(ctx context.Context, words []byte) error
	Logger *slog.Logger
}

// Channel is the web channel. Mount its Handler behind the page's login.
type Channel struct{ *live.Hub }

// New makes the channel.
func New(o Options) (*Channel, error) {
	if o.Name == "" {
		o.Name = "web"
	}
	hub, err := live.New(live.Options{
		Name: o.Name, Room: Room, Feed: o.Feed, MaxText: o.MaxText, Files: o.Files, MaxFile: o.MaxFile, Thoughts: o.Thoughts, Others: o.Others, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &Channel{hub}, nil
}
