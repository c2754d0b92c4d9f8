package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/reminders"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
)

// talk is a person who says all phrases in one zone, over restarts of the daemon.
type talk struct {
	t      *testing.T
	zone   string
	index  int // of the zone in phrase.due
	begin  time.Time
	folder string
	ahead  atomic.Int64 // how far the clock is ahead of the bubble's
	w      *world
	end    func()
	ids    map[string]string   // the reminders, by their words
	came   map[string][]string // when something was delivered, by its words
}

func (k *talk) now() time.Time { return time.Now().Add(time.Duration(k.ahead.Load())) }

// model makes the call of what was said last, then repeats what the tool says.
func (k *talk) model() agent.Model {
	return agenttest.Script().Otherwise(func(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == sessions.RoleTool {
			return agenttest.Say(last.Content)(ctx, r, onDelta)
		}
		for _, p := range phrases {
			if !strings.Contains(last.Content, p.say) {
				continue
			}
			args := strings.ReplaceAll(p.args, "ZONE", k.zone)
			for words, id := range k.ids {
				args = strings.ReplaceAll(args, "["+words+"]", id)
			}
			tool := p.tool
			if tool == "" {
				tool = "schedule"
			}
			return agenttest.Call(sessions.ToolCall{Name: tool, Arguments: args})(ctx, r, onDelta)
		}
		if strings.Contains(last.Content, "tell the news") {
			return agenttest.Say("tell the news: none")(ctx, r, onDelta)
		}
		return agent.Response{}, errors.New("nobody said " + last.Content)
	})
}

// run starts the daemon's parts that reminders need, over what is in the folder.
func (k *talk) run() {
	k.t.Helper()
	said := 0
	if k.w != nil {
		said = k.w.n
	}
	k.w = start(k.t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
		w.mem = sqlitetest.OpenIn(k.t, k.folder, k.now)
		w.store = storeOf(w.mem)
		book := reminders.New(w.mem, reminders.Options{Now: k.now, Zone: time.UTC})
		ag, err := agent.New(k.model(), []agent.Tool{tools.Schedule(book), tools.ListJobs(book), tools.ChangeJob(book), tools.CancelJob(book)}, agent.Options{})
		if err != nil {
			k.t.Fatal(err)
		}
		w.real = ag
		w.net.fail = k.deliver
		o.Now = k.now
		o.Reminders = book
		o.Heartbeats = jobs{}
	})
	k.w.n = said // no message has the id of an earlier one
	book := reminders.New(k.w.mem, reminders.Options{Now: k.now, Zone: time.UTC})
	ctx, stop := context.WithCancel(k.t.Context())
	ended := make(chan struct{})
	w := k.w
	go func() {
		defer close(ended)
		_ = reminders.NewRunner(book, w.mem, w.gw, reminders.RunnerOptions{}).Run(ctx)
	}()
	k.end = func() {
		stop()
		<-ended
		w.close()
		if err := w.mem.Close(); err != nil {
			k.t.Error(err)
		}
	}
}

// deliver notes when something that was to come came.
func (k *talk) deliver(m channels.Outbound) error {
	if m.Kind == channels.KindJob {
		words, _, _ := strings.Cut(m.Text, ":")
		k.came[words] = append(k.came[words], k.now().UTC().Format("2006-01-02T15:04:05Z"))
	}
	return nil
}

// say says p, and wants that it is understood or refused.
func (k *talk) say(p phrase) {
	k.t.Helper()
	k.w.say("1", p.say)
	synctest.Wait()
	said := k.w.net.texts("1")
	last := said[len(said)-1]
	wanted := strings.ReplaceAll(p.refused, "ZONE", k.zone)
	if p.refused != "" {
		if !strings.Contains(last, wanted) {
			k.t.Errorf("to %q the person reads %q, want %q in it", p.say, last, wanted)
		}
		return
	}
	id, found := strings.CutPrefix(last, "Reminder ")
	id, _, _ = strings.Cut(id, ":")
	switch {
	case p.tool == "" && found:
		k.ids[p.words()] = id
	case p.tool == "change_job" && strings.HasPrefix(last, "Changed. "):
	case p.tool == "cancel_job" && strings.HasPrefix(last, "Cancelled "):
	default:
		k.t.Errorf("to %q the person reads %q", p.say, last)
	}
}

// until lets the clock come to t. It jumps to shortly before, when nothing happens.
func (k *talk) until(t time.Time) {
	const before = 20 * time.Second // longer than the runner sleeps
	ahead := t.Sub(k.now()) - before
	if ahead > 0 {
		k.ahead.Add(int64(ahead))
	}
	time.Sleep(t.Sub(k.now()) + time.Second)
	synctest.Wait()
}

// moments are when something must come or is said, in order.
func (k *talk) moments() (all []time.Time) {
	for _, p := range phrases {
		for _, text := range strings.Fields(p.due[k.index]) {
			t, err := time.Parse("2006-01-02T15:04Z", text)
			if err != nil {
				k.t.Fatal(err)
			}
			all = append(all, t)
		}
		if p.later > 0 {
			all = append(all, k.begin.Add(time.Duration(p.later)*time.Hour))
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// outcomes wants that each occurrence has one outcome, and that what was sent arrived.
func (k *talk) outcomes() {
	k.t.Helper()
	for _, p := range phrases {
		if p.tool != "" || p.refused != "" {
			continue
		}
		list, err := k.w.mem.Occurrences(k.t.Context(), "net:1/"+k.ids[p.words()], 100)
		if err != nil {
			k.t.Fatal(err)
		}
		var got []string
		for _, o := range slices.Backward(list) {
			got = append(got, o.Due.UTC().Format("2006-01-02T15:04Z ")+o.Outcome)
		}
		var want []string
		for _, text := range strings.Fields(p.due[k.index]) {
			want = append(want, text+" ran")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			k.t.Errorf("%q: the outcomes (-want +got):\n%s", p.say, diff)
		}
	}
	queue, err := k.w.mem.ListQueue(k.t.Context(), 1000)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, it := range queue {
		if it.Lane == sessions.LaneOut {
			k.t.Errorf("%q was not delivered: %s", it.Text, it.State)
		}
	}
}

// Forty phrases in three zones come when people would expect them, on days when the clocks
// jump and over restarts. Each occurrence comes once, has one outcome, and is not late.
func TestPhrases(t *testing.T) {
	for index, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		t.Run(zone, func(t *testing.T) {
			place, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				k := &talk{
					t: t, zone: zone, index: index, begin: time.Date(2027, 3, 13, 10, 0, 0, 0, place), folder: t.TempDir(),
					ids: map[string]string{}, came: map[string][]string{},
				}
				k.ahead.Store(int64(time.Until(k.begin)))
				k.talkThrough()
			})
		})
	}
}

// talkThrough says everything, waits for everything, and judges it.
func (k *talk) talkThrough() {
	k.run()
	for _, p := range phrases {
		if p.later == 0 {
			k.say(p)
		}
	}
	if late := k.now().Sub(k.begin); late != 0 {
		k.t.Fatalf("all was said %s too late", late)
	}
	moments := k.moments()
	for i, t := range moments {
		if i%20 == 10 { // a restart
			k.end()
			k.run()
		}
		k.until(t)
		for _, p := range phrases {
			if p.later > 0 && t.Equal(k.begin.Add(time.Duration(p.later)*time.Hour)) {
				k.say(p)
			}
		}
	}
	k.until(moments[len(moments)-1].Add(40 * 24 * time.Hour)) // in which nothing more comes
	want := map[string][]string{}
	for _, p := range phrases {
		for _, text := range strings.Fields(p.due[k.index]) {
			want[p.words()] = append(want[p.words()], strings.Replace(text, "Z", ":00Z", 1))
		}
	}
	if diff := cmp.Diff(want, k.came); diff != "" {
		k.t.Errorf("what came (-want +got):\n%s", diff)
	}
	k.outcomes()
	k.end()
}
