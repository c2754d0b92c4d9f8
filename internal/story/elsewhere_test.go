package story_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
)

// Two nodes share a database, and one of them has the bot. Turns run on both, and
// people stop them without noticing which.
func TestStopOnEitherNode(t *testing.T) {
	l, nodes := cluster(t, pgtest.Database(t, "", ""))
	turns := func(d *daemon) int {
		s, err := api.ReadStatus.Call(t.Context(), d.admin, api.None{})
		if err != nil {
			t.Fatal(err)
		}
		return s.Turns
	}
	var people []botapi.User
	for len(people) < 8 { // River hands them out as it likes
		who := botapi.User{ID: int64(5001 + len(people)), FirstName: fmt.Sprint("P", len(people))}
		people = append(people, who)
		l.tell(who, "tell me everything !hold forever #1")
		l.until("a preview", func() bool { return len(l.api.FromBot(who.ID)) == 1 })
	}
	for _, who := range people {
		l.tell(who, "/status")
		if got := l.said(who.ID, 1)[0]; !strings.Contains(got, "I have been writing an answer") {
			t.Errorf("/status says %q", got)
		}
		l.tell(who, "/stop")
		l.said(who.ID, 2)
		if got := l.api.FromBot(who.ID)[0]; !strings.HasPrefix(got, "This is the beginning") || !strings.HasSuffix(got, "(stopped)") {
			t.Errorf("after /stop the bot shows %q, want what was written so far", got)
		}
	}
	for _, d := range nodes {
		testkit.Eventually(t, "no turn to run", func() bool { return turns(d) == 0 })
	}
}
