package postgres

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Nodes of versions before labels may work on the same tables until they leave. They
// cannot come back: they refuse tables that are newer than they are. A delivery's label
// is in a column of its own, which they do not touch. While one of them is listed, the
// texts that this node writes have the marks that tell them the same.

// lookForFormer looks whether such a node is listed, and which nodes seal nothing.
func (b *backend) lookForFormer(ctx context.Context) error {
	if err := b.readFormers(ctx); err != nil {
		return err
	}
	former, err := value[bool](ctx, b.pool, `SELECT EXISTS (SELECT 1 FROM nodes WHERE NOT labels AND expires > clock_timestamp())`)
	if err == nil {
		b.former.Store(former)
	}
	return err
}

// withoutLabel is a delivery as the column data has it.
func (b *backend) withoutLabel(o sessions.OutboxRecord) sessions.OutboxRecord {
	if b.former.Load() {
		o.Text = channels.WithMarks(o.Text, o.File, o.Form)
	}
	o.Label = sessions.Label{}
	return o
}

// readLabel completes a delivery from the column data with its label, if a node that
// knows labels stored it.
func readLabel(o *sessions.OutboxRecord, label string) error {
	if label == "" {
		*o = rules.Former(*o)
		return nil
	}
	if err := decode(label, &o.Label); err != nil {
		return err
	}
	text, file, form := channels.WithoutMarks(o.Text)
	if form == o.Form && (file != "") == (o.File != "") {
		o.Text = text
	}
	return nil
}

// inFormerWords is a message as the column inbound has it.
func (b *backend) inFormerWords(m channels.Inbound) channels.Inbound {
	if m.Again && b.former.Load() {
		m.Text = sessions.AgainMark + m.Text
	}
	return m
}
