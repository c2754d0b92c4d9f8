package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
)

// In a shared chat, an edit that does not address us counts only if the edited
// message did. Otherwise there is no turn, no refusal and no trace.
func TestChangesAmongOthers(t *testing.T) {
	for _, test := range []struct {
		name   string
		groups people.Groups
		change func(*channels.Inbound)
		want   []string // in the group, after "first"
	}{
		{"an edit", "", func(m *channels.Inbound) { m.Text = "hello" }, []string{"echo hello"}},
		{"a deletion", "", func(m *channels.Inbound) { m.Deletes = channels.DeletedBySender }, nil},
		{"an edit of something else", "", func(m *channels.Inbound) { m.Edits = "m77" }, []string{"echo helo"}},
		{"a deletion of something else", "", func(m *channels.Inbound) { m.Edits, m.Deletes = "m77", channels.DeletedByAdmin }, []string{"echo helo"}},
		{"an edit of something else where all is for us", people.All, func(m *channels.Inbound) { m.Edits = "m77" }, []string{"echo helo", "echo talk"}},
		{"a deletion of something else there", people.All, func(m *channels.Inbound) { m.Edits, m.Deletes = "m77", channels.DeletedBySender }, []string{"echo helo"}},
		{"by a stranger", "", func(m *channels.Inbound) { m.Sender = channels.Person{IDs: []string{"666"}} }, []string{"echo helo"}},
		{"an endless edit", "", func(m *channels.Inbound) { m.Text = strings.Repeat("x", 10_000) }, []string{"echo helo"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
					b.Groups, b.Allow = test.groups, []string{"1", "2"}
					o.Queue, o.MaxMessageBytes = gateway.Each, 5000
				})
				w.agent.run = slowEcho(time.Minute)
				in := func(text string) channels.Inbound {
					m := w.message("g", text)
					m.Private, m.Sender = false, channels.Person{IDs: []string{"1"}, Name: "ann"}
					return m
				}
				first := in("first")
				second := in("helo")
				change := in("talk")
				first.Addressed, second.Addressed = true, true
				w.accept(first)
				synctest.Wait()
				w.accept(second)
				change.Edits = second.MessageID
				test.change(&change)
				w.accept(change)
				time.Sleep(10 * time.Minute)
				w.expect("g", append([]string{"echo first"}, test.want...)...)
				if n := w.seen.get("accepted net refused"); n != 0 {
					t.Errorf("%d people are told of as refused who did not speak to us", n)
				}
			})
		})
	}
}
