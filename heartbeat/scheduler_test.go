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

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/sessions"
	"dragoman/sessions/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a store and a wall clock that the test sets. Time passes as in a synctest bubble, in which every test begins
// at midnight (UTC) of 1 January 2000.
type rig struct {
	t      *testing.T
	store  *memory.Store
	ledger heartbeat.Ledger
	o      heartbeat.Options
	shift  atomic.Int64 // of the wall clock, a time.Duration
}

func bubble(t *testing.T, test func(*testing.T, *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: memory.New(memory.Options{})}
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

// happened is what the store recorded, oldest first: due time, outcome, why.
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

// inbox is what waits for the gateway.
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
		r.run(3*time.Hour-time.Second, every(7*time.Minute), job(func(j *heartbeat.Job) { j.Name, j.Every, j.Cron = "k", 0, "*/3 * * * *" }))
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
		want := channels.Inbound{Key: channels.MustKey("heartbeat:j"), ID: fmt.Sprintf("hb:j:%d", due.Unix()), Sender: channels.Person{Name: "heartbeat"}, Text: "Anything new?", At: due}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b channels.Key) bool { return a == b })); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
		if items := r.inbox(); len(items) != 1 || items[0].Key != "heartbeat:j" {
			t.Errorf("inbox = %+v, want the one message", items)
		}
	})
}

func TestRestartsDoNotResetAnInterval(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		for range 10 { // ten lives of 13 minutes
			r.run(13*time.Minute, every(time.Hour))
		}
		r.want("01 01:00:00 fired", "01 02:00:00 fired")
	})
}

func TestALateOneDoesNotMoveTheOthers(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.run(10*time.Minute, every(time.Hour))
		time.Sleep(time.Hour + 7*time.Minute)
		r.run(time.Hour, every(time.Hour)) // from 01:17 on
		r.want("01 01:00:00 fired", "01 02:00:00 fired")
	})
}

func TestDowntime(t *testing.T) {
	for _, test := range []struct {
		name, catchUp string
		down          time.Duration // from 00:35 on
		want          []string
	}{
		{"short", "", 20 * time.Minute, []string{"01 00:30:00 fired"}},
		{"over one, once", "once", 40 * time.Minute, []string{"01 00:30:00 fired", "01 01:00:00 fired"}},
		{"over one, skip", "skip", 40 * time.Minute, []string{"01 00:30:00 fired", "01 01:00:00 missed it came due while nobody could fire it"}},
		{"over many, once", "", 5 * time.Hour, []string{"01 00:30:00 fired", "01 01:00:00 missed 9 occurrences came due while nobody could fire them", "01 05:30:00 fired"}},
		{"over many, skip", "skip", 5 * time.Hour, []string{"01 00:30:00 fired", "01 01:00:00 missed 10 occurrences came due while nobody could fire them"}},
		{"over many, skip, back in time for the last", "skip", 4*time.Hour + 56*time.Minute, []string{"01 00:30:00 fired", "01 01:00:00 missed 9 occurrences came due while nobody could fire them", "01 05:30:00 fired"}},
		{"years", "", 5 * 365 * 24 * time.Hour, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				j := job(func(j *heartbeat.Job) { j.CatchUp = test.catchUp })
				r.run(35*time.Minute, j)
				time.Sleep(test.down)
				r.run(time.Minute, j)
				if test.want != nil {
					r.want(test.want...)
				} else if got := r.happened(); len(got) != 3 || !strings.Contains(got[1], "missed at least 999 occurrences") {
					t.Errorf("after years: %q", got)
				}
				before := len(r.happened())
				r.run(40*time.Minute, j)
				if got := len(r.happened()) - before; got < 1 || got > 2 {
					t.Errorf("%d occurrences in the 40 minutes after, want it to go on as before", got)
				}
			})
		})
	}
}

func TestActiveHours(t *testing.T) {
	outside := " skipped outside of the active hours 22:00-01:30"
	bubble(t, func(_ *testing.T, r *rig) {
		r.run(3*time.Hour+time.Minute, job(func(j *heartbeat.Job) { j.ActiveHours = "22:00-01:30" }))
		r.want("01 00:30:00 fired", "01 01:00:00 fired", "01 01:30:00"+outside, "01 02:00:00"+outside, "01 02:30:00"+outside, "01 03:00:00"+outside)
	})
	t.Run("in the job's zone", func(t *testing.T) {
		bubble(t, func(_ *testing.T, r *rig) {
			r.run(61*time.Minute, job(func(j *heartbeat.Job) { j.ActiveHours, j.TimeZone = "09:45-11:00", "Asia/Tokyo" }))
			r.want("01 00:30:00 skipped outside of the active hours 09:45-11:00", "01 01:00:00 fired")
		})
	})
	t.Run("caught up too late", func(t *testing.T) {
		bubble(t, func(_ *testing.T, r *rig) {
			j := job(func(j *heartbeat.Job) { j.Every, j.Cron, j.ActiveHours = 0, "0 8 * * *", "07:00-10:00" })
			r.run(time.Hour, j)
			time.Sleep(10 * time.Hour)
			r.run(time.Hour, j)
			r.want("01 08:00:00 skipped too late for the active hours 07:00-10:00")
		})
	})
}

func TestClockJumps(t *testing.T) {
	for _, test := range []struct {
		name  string
		job   heartbeat.Job
		shift time.Duration // at 10:05
		want  []string      // until an hour and a half later
	}{
		{"ahead by hours", cron("0 * * * *"), 5 * time.Hour, []string{"01 11:00:00 missed 4 occurrences came due while nobody could fire them", "01 15:00:00 fired", "01 16:00:00 fired"}},
		{"ahead by a little", cron("0 * * * *"), 56 * time.Minute, []string{"01 11:00:00 fired", "01 12:00:00 fired"}},
		{"back by hours, calendar", cron("0 * * * *"), -5 * time.Hour, []string{}},                   // 06:00 was fired in its time
		{"back by hours, interval", every(time.Hour), -5 * time.Hour, []string{"01 06:05:30 fired"}}, // noticed half a minute later
		{"back by a second after firing", cron("5 10 * * *"), -time.Minute, []string{}},
		{"back by a second, interval", every(time.Hour), -time.Second, []string{"01 11:00:00 fired"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				s, err := heartbeat.New([]heartbeat.Job{test.job}, r.ledger, r.o)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- s.Run(ctx) }()
				time.Sleep(10*time.Hour + 5*time.Minute + time.Second/2)
				synctest.Wait()
				before := r.happened()
				r.shift.Store(int64(test.shift))
				time.Sleep(90 * time.Minute)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				got := slices.DeleteFunc(r.happened(), func(line string) bool { return slices.Contains(before, line) })
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("after the jump (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestClockWasWrongByYears starts on a machine whose clock is in the far
// future until the network sets it right.
func TestClockWasWrongByYears(t *testing.T) {
	for _, j := range []heartbeat.Job{every(time.Hour), cron("0 * * * *")} {
		bubble(t, func(t *testing.T, r *rig) {
			r.shift.Store(int64(9 * 365 * 24 * time.Hour))
			r.run(90*time.Minute, j)
			r.shift.Store(0)
			before := len(r.happened())
			r.run(3*time.Hour, j)
			if got := len(r.happened()) - before; got < 2 || got > 3 {
				t.Errorf("%d occurrences in the three hours after the clock was set right: %q", got, r.happened())
			}
		})
	}
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

func TestRunNow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		j := job(func(j *heartbeat.Job) { j.ActiveHours = "20:00-21:00" })
		s, err := heartbeat.New([]heartbeat.Job{j}, r.ledger, r.o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(12*time.Minute + 345*time.Millisecond)
		if err := errors.Join(s.RunNow(ctx, "j"), s.RunNow(ctx, "j")); err != nil {
			t.Error(err)
		}
		if err := s.RunNow(ctx, "k"); !errors.Is(err, heartbeat.ErrUnknown) {
			t.Errorf("RunNow of an unknown job = %v", err)
		}
		time.Sleep(20 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.want("01 00:12:00 fired", "01 00:30:00 skipped outside of the active hours 20:00-21:00")
		if len(r.inbox()) != 1 {
			t.Errorf("the inbox holds %d messages, want 1", len(r.inbox()))
		}
	})
}

func TestRunNowSurvivesACrash(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.run(10*time.Minute, every(time.Hour))
		dead := false
		killed := func(time.Time) error { dead = true; return errors.New("killed") }
		l := &spy{Ledger: r.store, fire: killed, plan: func(next time.Time) error {
			if dead {
				return killed(next)
			}
			return nil
		}}
		s, err := heartbeat.New([]heartbeat.Job{every(time.Hour)}, l, r.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RunNow(t.Context(), "j"); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("RunNow = %v, want the failure", err)
		}
		time.Sleep(10 * time.Minute)
		r.run(time.Minute, every(time.Hour))
		r.want("01 00:10:00 fired")
	})
}

// A RunNow that failed has changed nothing: the job is not fired behind the
// back of who was told so, and an interval goes on from where it was.
func TestRunNowThatFails(t *testing.T) {
	for name, tt := range map[string]struct {
		asked time.Duration // after midnight; the first life ends at 10 minutes
		want  []string
	}{
		"before its time": {15 * time.Minute, []string{"01 01:00:00 fired", "01 02:00:00 fired"}},
		"when it was due": {61 * time.Minute, []string{"01 01:00:00 fired", "01 02:00:00 fired"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.run(10*time.Minute, every(time.Hour))
				time.Sleep(tt.asked - 10*time.Minute)
				ctx, cancel := context.WithCancel(t.Context())
				s, err := heartbeat.New([]heartbeat.Job{every(time.Hour)}, &spy{Ledger: r.store, fire: func(time.Time) error {
					cancel() // whoever asked gave up
					return errors.New("disk full")
				}}, r.o)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.RunNow(ctx, "j"); err == nil || !strings.Contains(err.Error(), "disk full") {
					t.Errorf("RunNow = %v, want the failure", err)
				}
				r.run(121*time.Minute-tt.asked, every(time.Hour))
				r.want(tt.want...)
			})
		})
	}
}

// A store that fails and is stuck from then on does not keep who asked for a
// job for ever.
func TestRunNowInAStuckStore(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		s, err := heartbeat.New([]heartbeat.Job{every(time.Hour)}, &stuck{Ledger: r.store}, r.o)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = s.RunNow(t.Context(), "j")
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "disk full") || took != 5*time.Second {
			t.Errorf("RunNow = %v after %s, want the failure and the end of the waiting after five seconds", err, took)
		}
	})
}

// stuck is a ledger that fails to fire and answers nothing after that, for an
// hour.
type stuck struct {
	heartbeat.Ledger
	failed bool
}

func (s *stuck) Fire(context.Context, string, time.Time, time.Time, channels.Inbound) error {
	s.failed = true
	return errors.New("disk full")
}

func (s *stuck) NextDue(ctx context.Context, job string) (time.Time, bool, error) {
	if s.failed {
		select {
		case <-ctx.Done():
			return time.Time{}, false, ctx.Err()
		case <-time.After(time.Hour):
		}
	}
	return s.Ledger.NextDue(ctx, job)
}

func TestRunNowSaysWhyNot(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		s, err := heartbeat.New([]heartbeat.Job{job(func(j *heartbeat.Job) { j.PromptFile = "HEARTBEAT.md" })}, r.ledger, r.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RunNow(t.Context(), "j"); err == nil || !strings.Contains(err.Error(), "nothing in HEARTBEAT.md") {
			t.Errorf("RunNow = %v, want that there is nothing to run", err)
		}
		r.want()
	})
}

func TestLedgerFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		tries := 0
		r.ledger = &spy{Ledger: r.store, fire: func(time.Time) error {
			if tries++; tries < 9 {
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
	if k, found := s.Target("j"); !found || k != channels.MustKey("telegram:7") || !s.Silent("HEARTBEAT_OK") {
		t.Errorf("Target = %v, %v", k, found)
	}
	if _, found := s.Target("k"); found {
		t.Error("Target found a job that does not exist")
	}
}

// spy looks at what is fired and may make it fail.
type spy struct {
	heartbeat.Ledger
	fire    func(due time.Time) error
	plan    func(next time.Time) error
	message func(channels.Inbound)
}

func (s *spy) Fire(ctx context.Context, job string, due, next time.Time, m channels.Inbound) error {
	if s.fire != nil {
		if err := s.fire(due); err != nil {
			return err
		}
	}
	if s.message != nil {
		s.message(m)
	}
	return s.Ledger.Fire(ctx, job, due, next, m)
}

func (s *spy) Plan(ctx context.Context, job string, next time.Time) error {
	if s.plan != nil {
		if err := s.plan(next); err != nil {
			return err
		}
	}
	return s.Ledger.Plan(ctx, job, next)
}
