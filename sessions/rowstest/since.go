package rowstest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// rowsSinceATime: whoever comes back asks for the rows of all keys that came meanwhile.
func rowsSinceATime(t *testing.T, b rows.Backend) {
	put(t, b, of(queues(k1, 2, 1, []*rows.InPut{in(k1, 1, rules.InWaiting)}, out(k1, 2, sessions.DeliveryDead))))
	later := noon.Add(time.Second)
	stored := queues(k2, 2, 0, []*rows.InPut{in(k2, 1, rules.InDone)}, out(k2, 2, sessions.DeliverySent))
	stored.In[0].Accepted = later
	stored.Out[0].Created = later
	put(t, b, of(stored))
	for _, test := range []struct {
		since   time.Time
		in, out []string
	}{
		{noon, []string{k1.String() + " 1", k2.String() + " 1"}, []string{k1.String() + " 2", k2.String() + " 2"}},
		{noon.Add(1), []string{k2.String() + " 1"}, []string{k2.String() + " 2"}},
		{later.Add(1), nil, nil},
	} {
		q := rows.QueueFilter{Since: test.since}
		accepted := list(t, b.Inbox(t.Context(), channels.Key{}, q), func(r rows.In) string { return fmt.Sprint(r.Inbound.Key, " ", r.Seq) })
		created := list(t, b.Outbox(t.Context(), channels.Key{}, q), func(o rows.Out) string { return fmt.Sprint(o.Key, " ", o.Seq) })
		slices.Sort(accepted)
		slices.Sort(created)
		same(t, "Inbox since "+test.since.String(), accepted, test.in)
		same(t, "Outbox since "+test.since.String(), created, test.out)
	}
}
