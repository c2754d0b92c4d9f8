package sqlite_test

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// TestLongMessagesAreTakenInParts: it is not only many messages that others
// would have to wait for, but long ones as well. Each commit takes about a
// megabyte, or one message.
func TestLongMessagesAreTakenInParts(t *testing.T) {
	t.Parallel()
	const mega = 1 << 20
	for name, test := range map[string]struct {
		sizes   []int
		commits int32
	}{
		"few and short": {[]int{100, 100, 100}, 1},
		"a long one":    {[]int{3 * mega}, 3},                                     // begun, one part, done
		"long ones":     {[]int{2 * mega, 10, 2 * mega, 2 * mega}, 6},             // the short one for itself
		"together long": {[]int{mega / 2, mega / 3, mega / 2, mega / 3, mega}, 5}, // three parts
	} {
		t.Run(name, func(t *testing.T) {
			s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
			var commits atomic.Int32
			if err := sqlite.AtCommit(s, func() { commits.Add(1) }); err != nil {
				t.Fatal(err)
			}
			commits.Store(0)
			k, at := channels.MustKey("x:1"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			m := &sessions.MessagesRecord{Key: k}
			for i, size := range test.sizes {
				m.Messages = append(m.Messages, sessions.Message{Seq: int64(i + 1), Role: sessions.RoleUser, At: at, Content: strings.Repeat("x", size)})
			}
			_, err := s.Restore(t.Context(), from([]sessions.Record{
				{Conversation: &sessions.ConversationRecord{Key: k, Created: at, Updated: at}}, {Messages: m},
			}))
			if err != nil {
				t.Fatal(err)
			}
			if n := commits.Load(); n != test.commits {
				t.Errorf("the import was %d commits, want %d", n, test.commits)
			}
			got, err := s.Messages(t.Context(), k, 0, 100)
			if err != nil || len(got) != len(test.sizes) {
				t.Fatalf("%d messages are there, %v, want %d", len(got), err, len(test.sizes))
			}
			for i, one := range got {
				if len(one.Content) != test.sizes[i] {
					t.Errorf("message %d has %d bytes, want %d", i+1, len(one.Content), test.sizes[i])
				}
			}
		})
	}
}
