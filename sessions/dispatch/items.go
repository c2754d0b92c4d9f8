package dispatch

import (
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// In is the item of an inbox row.
func In(r *rows.In) Item {
	lane := Chat
	if r.Origin == sessions.OriginHeartbeat {
		lane = Heartbeat
	}
	return Item{Key: r.Inbound.Key, Seq: r.Seq, Lane: lane, Due: r.Due, Turn: r.Turn, Since: r.Accepted, Gone: r.State != rules.InWaiting}
}

// Out is the item of a delivery.
func Out(o *sessions.OutboxRecord) Item {
	return Item{
		Key: o.Key, Seq: o.Seq, Lane: Delivery, Due: o.NotBefore, Since: o.Created, Uncertain: o.Uncertain, Gone: !rules.Unsent(o.State),
	}
}
