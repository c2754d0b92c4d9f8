package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a store and a wall clock that the test sets. Time passes as in a synctest bubble, in which every test begins
// at midnight (UTC) of 1 January 2000.
type rig struct {
	t      *testing.T
	store  *sqlitetest.Store
	ledger heartbeat.Ledger
	o      heartbeat.Options
	shift  atomic.Int64 // of the wall clock, a time.Duration
}

func bubble(t *testing.T, test func(*testing.T, *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: sqlitetest.Open(t, nil)}
		r.ledger = r.store
		r.o = heartbeat.Options{Now: func() time.Time { return time.Now().Add(time.Duration(r.shift.Load())) }, Zone: time.UTC}
		test(t, r)
		if err := r.store.Close(); err != nil {
			t.Error(err)
		}
	})
}

func job(change func(*heartbeat.Job)) heartbeat.Job {
	j := heartbeat.Job{Name: "j", Every: 30 * time.Minute, Target: channels.MustKey("telegram:7"), Prompt: "Anything new?"}
	change(&j)
	return j
}

func every(d time.Duration) heartbeat.Job { return job(func(j *heartbeat.Job) { j.Every = d }) }

func cron(spec string) heartbeat.Job {
	return job(func(j *heartbeat.Job) { j.Every, j.Cron = 0, spec })
}

// run lets a scheduler of these jobs run for some time, as one life of the
// daemon.
func (r *rig) run(d time.Duration, jobs ...heartbeat.Job) {
	r.t.Helper()
	s, err := heartbeat.New(jobs, r.ledger, r.o)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), d)
	defer cancel()
	if err := s.Run(ctx); err != nil {
		r.t.Errorf("Run = %v, want nil", err)
	}
}

// happened returns the recorded outcomes, oldest first: due time, outcome, why.
func (r *rig) happened() []string {
	r.t.Helper()
	list, err := r.store.Occurrences(r.t.Context(), "", 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	lines := []string{}
	for _, o := range slices.Backward(list) {
		lines = append(lines, strings.TrimSpace(o.Due.UTC().Format("02 15:04:05 ")+o.Outcome+" "+o.Why))
	}
	return lines
}

func (r *rig) want(lines ...string) {
	r.t.Helper()
	if diff := cmp.Diff(append([]string{}, lines...), r.happened()); diff != "" {
		r.t.Errorf("what happened (-want +got):\n%s", diff)
	}
}

// inbox returns the entries that wait for the gateway.
func (r *rig) inbox() []sessions.QueueItem {
	r.t.Helper()
	items, err := r.store.ListQueue(r.t.Context(), 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	return items
}

func TestInterval(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.run(95*time.Minute, every(30*time.Minute))
		r.want("01 00:30:00 fired", "01 01:00:00 fired", "01 01:30:00 fired")
	})
}

func TestFiresInTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		late := time.Duration(0)
		r.ledger = &spy{Ledger: r.store, fire: func(due time.Time) error {
			late = max(late, time.Since(due))
			return nil
		}}
		r.run(3*time.Hour-time.Second, every(7*time.Minute), job(func(j *heartbeat.Job) {
			j.Name = "k"
			j.Every = 0
			j.Cron = "*/3 * * * *"
		}))
		if late > time.Millisecond || len(r.happened()) != 25+59 {
			t.Errorf("%d occurrences, the latest %s late; want 84, in time", len(r.happened()), late)
		}
	})
}

func TestMessage(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var got channels.Inbound
		r.ledger = &spy{Ledger: r.store, message: func(m channels.Inbound) { got = m }}
		r.run(31*time.Minute, every(30*time.Minute))
		due := time.Date(2000, 1, 1, 0, 30, 0, 0, time.UTC)
		want := channels.Inbound{Key: channels.MustKey("heartbeat:j"), ID: fmt.Sprintf("j:%d", due.Unix()), Sender: channels.Person{Name: "heartbeat"}, Text: "Anything new?", At: due}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b channels.Key) bool { return a == b })); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
		if items := r.inbox(); len(items) != 1 || items[0].Key != channels.MustKey("heartbeat:j") {
			t.Errorf("inbox = %+v, want the one message", items)
		}
	})
}

// Anybody may have written what a prompt file says.
func TestMessageOfAFile(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var got channels.Inbound
		r.ledger = &spy{Ledger: r.store, message: func(m channels.Inbound) { got = m }}
		r.o.ReadFile = func(context.Context, string) ([]byte, error) { return []byte("Look at the news."), nil }
		r.run(31*time.Minute, job(func(j *heartbeat.Job) { j.PromptFile = "HEARTBEAT.md" }))
		if !slices.Equal(got.Origins, []channels.Origin{channels.OriginFile}) {
			t.Errorf("the message has the origins %v, want the file's", got.Origins)
		}
	})
}

func TestChangedSchedule(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, new heartbeat.Job
		want     []string
	}{
		{"longer interval", every(time.Hour), every(3 * time.Hour), []string{"01 01:00:00 fired", "01 04:00:00 fired"}},
		{"shorter interval", every(10 * time.Hour), every(time.Hour), []string{"01 01:10:00 fired", "01 02:10:00 fired", "01 03:10:00 fired", "01 04:10:00 fired"}},
		{"another calendar", cron("0 12 * * *"), cron("30 2 * * *"), []string{"01 02:30:00 fired"}},
		{"from a calendar to an interval", cron("0 12 1 * *"), every(2 * time.Hour), []string{"01 02:10:00 fired", "01 04:10:00 fired"}},
		{"from an interval to a calendar", every(5 * time.Hour), cron("0 */2 * * *"), []string{"01 02:00:00 fired", "01 04:00:00 fired"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(_ *testing.T, r *rig) {
				r.run(10*time.Minute, test.old)
				r.run(5*time.Hour-15*time.Minute, test.new)
				r.want(test.want...)
			})
		})
	}
}

func TestUnfinished(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		counts := []int{0, 1, 2, 3, 0}
		r.o.Unfinished = func(context.Context, string) (int, error) {
			n := counts[0]
			counts = counts[1:]
			return n, nil
		}
		r.run(151*time.Minute, every(30*time.Minute))
		r.want("01 00:30:00 fired", "01 01:00:00 fired", "01 01:30:00 skipped 2 earlier occurrences are not finished",
			"01 02:00:00 skipped 3 earlier occurrences are not finished", "01 02:30:00 fired")
	})
}

// A job that somebody paused is skipped until it is resumed.
func TestPaused(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		whys := []string{"", "Ann paused it", ""}
		r.o.Paused = func(context.Context, string) (string, error) {
			why := whys[0]
			whys = whys[1:]
			return why, nil
		}
		r.run(91*time.Minute, every(30*time.Minute))
		r.want("01 00:30:00 fired", "01 01:00:00 skipped Ann paused it", "01 01:30:00 fired")
	})
}

func TestPromptFile(t *testing.T) {
	j := job(func(j *heartbeat.Job) { j.Prompt, j.PromptFile = "Do this:", "ws/HEARTBEAT.md" })
	for _, test := range []struct {
		name    string
		content string
		err     error
		text    string
		want    string
	}{
		{"tasks", "\ufeff# Tasks\n- mail\n\n", nil, "Do this:\n\n# Tasks\n- mail", "fired"},
		{"not UTF-8", "caf\xe9", nil, "Do this:\n\ncaf\uFFFD", "fired"},
		{"headings only", "# Tasks\n<!-- none -->\n", nil, "", "skipped nothing in HEARTBEAT.md"},
		{"empty", "", nil, "", "skipped nothing in HEARTBEAT.md"},
		{"missing", "", &fs.PathError{Op: "open", Err: fs.ErrNotExist}, "", "skipped nothing in HEARTBEAT.md"},
		{"unreadable", "", errors.New("EIO on /dev/sda1"), "", "skipped HEARTBEAT.md cannot be read"},
		{"12 MB", strings.Repeat("x", 12<<20), nil, "", "skipped HEARTBEAT.md has 12582912 bytes, more than 65536"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.o.ReadFile = func(_ context.Context, name string) ([]byte, error) {
					if name != "ws/HEARTBEAT.md" {
						t.Errorf("ReadFile(%q)", name)
					}
					return []byte(test.content), test.err
				}
				text := ""
				r.ledger = &spy{Ledger: r.store, message: func(m channels.Inbound) { text = m.Text }}
				r.run(31*time.Minute, j)
				r.want("01 00:30:00 " + test.want)
				if text != test.text {
					t.Errorf("text = %q, want %q", text, test.text)
				}
			})
		})
	}
}

func TestLedgerFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		tries := 0
		r.ledger = &spy{Ledger: r.store, fire: func(time.Time) error {
			tries++
			if tries < 9 {
				return errors.New("disk full")
			}
			return nil
		}}
		// Both jobs are tried again after 1, 2, 4 and 8 seconds.
		r.run(30*time.Minute+20*time.Second, every(30*time.Minute), job(func(j *heartbeat.Job) { j.Name = "k" }))
		if tries != 10 {
			t.Errorf("%d tries, want 10", tries)
		}
		r.want("01 00:30:00 fired", "01 00:30:00 fired")
	})
}

// TestTwoNodes runs two schedulers on one calendar. Each occurrence is fired
// by one of them.
func TestTwoNodes(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.run(5*time.Hour+time.Minute, every(10*time.Minute))
		}()
		r.run(5*time.Hour+time.Minute, every(10*time.Minute))
		<-done
		if got := len(r.happened()); got != 30 || len(r.inbox()) != 30 {
			t.Errorf("%d occurrences, %d messages, want 30 of each", got, len(r.inbox()))
		}
	})
}

// A node that looked at a new job later than another, but plans it at the same
// time, does not replace the other's plan.
func TestTwoNodesPlanANewJob(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		time.Sleep(time.Minute + time.Millisecond)
		looked := false
		r.ledger = &spy{Ledger: r.store, plan: func(time.Time) error {
			if looked {
				return nil
			}
			looked = true
			return r.store.Plan(t.Context(), "j", time.Time{}, time.Now().Truncate(time.Minute))
		}}
		r.run(time.Minute, cron("* * * * *"))
		r.want("01 00:01:00 fired", "01 00:02:00 fired")
	})
}

func TestNewNamesEveryProblem(t *testing.T) {
	bad := job(func(j *heartbeat.Job) { j.Name, j.Every = "bad", -1 })
	_, err := heartbeat.New([]heartbeat.Job{every(time.Hour), bad, every(time.Hour)}, nil, heartbeat.Options{})
	for _, words := range []string{"job bad: every", "job j: another job has this name"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("New = %v, want %q", err, words)
		}
	}
}

func TestTarget(t *testing.T) {
	s, err := heartbeat.New([]heartbeat.Job{every(time.Hour)}, nil, heartbeat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if k, found := s.Target("j"); !found || k != channels.MustKey("telegram:7") {
		t.Errorf("Target = %v, %v", k, found)
	}
	if _, found := s.Target("k"); found {
		t.Error("Target found a job that does not exist")
	}
}

// spy records what is fired and can make it fail.
type spy struct {
	heartbeat.Ledger
	fire    func(due time.Time) error
	plan    func(next time.Time) error
	message func(channels.Inbound)
}

func (s *spy) Fire(ctx context.Context, job string, was, due, next time.Time, m channels.Inbound) error {
	if s.fire != nil {
		if err := s.fire(due); err != nil {
			return err
		}
	}
	if s.message != nil {
		s.message(m)
	}
	return s.Ledger.Fire(ctx, job, was, due, next, m)
}

func (s *spy) Plan(ctx context.Context, job string, was, next time.Time) error {
	if s.plan != nil {
		if err := s.plan(next); err != nil {
			return err
		}
	}
	return s.Ledger.Plan(ctx, job, was, next)
}
