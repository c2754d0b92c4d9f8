package app

import (
	"time"

	"dragoman/internal/actions"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/internal/stream"
)

// newBook makes the book of what needs a yes, as the configuration says.
func (d *Daemon) newBook() *actions.Book {
	return actions.New(d.store, actions.Options{
		Approvers: d.cfg.Approvals.Approvers, Self: d.cfg.Approvals.Approve == config.ApproveSelf,
		Zone: zoneOf(d.cfg.Agent.TimeZone), ZoneOf: d.reminders.ZoneOf, Log: d.log,
		Tell: func(e actions.Event) {
			d.events.Publish(stream.Event{Event: stream.ApprovalChange, At: time.Now(), Key: e.Chat, ID: e.ID, Turn: e.Turn, Tool: e.Tool, Why: string(e.State)})
		},
	})
}

// approvals is what the API does with questions: the book's, and the gateway's answer.
type approvals struct {
	*actions.Book
	*gateway.Gateway
}

var _ api.Approvals = approvals{}
