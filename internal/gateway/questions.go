package gateway

import (
	"context"
	"strings"

	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/sessions"
)

// questionPrefix begins the ids of deliveries that ask a question, whose buttons and
// outcome belong to it.
const questionPrefix = "question/"

// withAlways ends those of questions that may be allowed for the future.
const withAlways = "/always"

// questionID is the id of the delivery that asks q.
func questionID(q actions.Question) string {
	if q.MayAlways {
		return questionPrefix + q.ID + withAlways
	}
	return questionPrefix + q.ID
}

// asks returns the question that d asks, "" if it asks none.
func asks(d sessions.Delivery) (id string, always bool) {
	if d.Kind != channels.KindQuestion {
		return "", false
	}
	return QuestionOf(d.ID), strings.HasSuffix(d.ID, withAlways)
}

// QuestionOf returns the id of the question that a delivery with that id asks, "" if it is
// none.
func QuestionOf(delivery string) string {
	id, is := strings.CutPrefix(delivery, questionPrefix)
	if !is {
		return ""
	}
	return strings.TrimSuffix(id, withAlways)
}

// choices are the buttons of d.
func choices(d sessions.Delivery) []channels.Choice {
	id, always := asks(d)
	if id == "" {
		return snoozeChoices(d)
	}
	list := []channels.Choice{{Label: "Allow once", Command: "allow", Subject: id}, {Label: "Deny", Command: "deny", Subject: id}}
	if always {
		list = append(list, channels.Choice{Label: "Always", Command: "always", Subject: id})
	}
	return list
}

// shown notes that d, if it asks a question, was sent as a message. Without it a reply to
// the question is ordinary text, and the decision is a message of its own.
func (g *Gateway) shown(ctx context.Context, d sessions.Delivery, r channels.Receipt) {
	id, _ := asks(d)
	if id == "" || r.MessageID == "" || g.opts.Actions == nil {
		return
	}
	err := g.opts.Actions.Shown(ctx, d.Key, id, r.MessageID)
	if err != nil {
		g.log(d.Key).Warn("it is not noted which message asks a question", "err", err)
	}
}
