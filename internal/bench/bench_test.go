package bench_test

import (
	"os"
	"slices"
	"testing"
	"time"
)

// TestBench measures everything and writes the report.
func TestBench(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("measures for minutes; run it with: make bench")
	}
	began := time.Now()
	bin := build(t)
	r := newReport(t)
	// One after the other: they share the machine.
	for _, m := range []struct {
		name string
		do   func(*testing.T, string, *report)
	}{
		{"light", measureLight},
		{"saturated", measureSaturated},
		{"minutes", measureMinutes},
		{"crowd", measureCrowd},
		{"past", measurePast},
		{"prefix", measurePrefix},
		{"size", measureSize},
	} {
		if only := os.Getenv("DRAGOMAN_BENCH_ONLY"); only != "" && only != m.name {
			continue
		}
		if !t.Run(m.name, func(t *testing.T) { m.do(t, bin, r) }) {
			t.Errorf("%s failed; there is no report", m.name)
		}
	}
	r.took = time.Since(began)
	t.Logf("\n%s", r)
	if path := os.Getenv("DRAGOMAN_REPORT"); path != "" && !t.Failed() {
		if err := r.write(path); err != nil {
			t.Error(err)
		}
	}
}

// measureLight: what Dragoman adds to the time of one turn when it has time.
func measureLight(t *testing.T, bin string, r *report) {
	h := newHouse(t, bin, plan{})
	d := h.start()
	defer d.stop()
	h.alone(firstChat, 30)
	h.alone(firstChat, 400)
	r.alone = h.people.times()

	h.steady(200, 100, 3*time.Second)
	const long = 20 * time.Second
	cpu, others := d.used(), machineCPU()-ownCPU()
	h.steady(200, 100, long)
	r.light = h.people.times()
	cpu = d.used() - cpu
	r.lightCPU = cpu / time.Duration(max(len(r.light), 1))
	r.lightOthers = max((machineCPU()-ownCPU()-others-cpu).Seconds()/long.Seconds(), 0)
	_, r.lightPeak = d.memory()
}

// measureSaturated: how many turns a second, and what they take.
func measureSaturated(t *testing.T, bin string, r *report) {
	h := newHouse(t, bin, plan{})
	d := h.start()
	defer d.stop()
	calls := h.model.Count()
	r.busy = h.saturate(d.used, 200, 3*time.Second, 15*time.Second)
	r.busyCalls = h.model.Count() - calls
	_, r.busyPeak = d.memory()
}

// measureMinutes: whether memory grows under load. It takes ten minutes, so it
// is measured only when it is asked for.
func measureMinutes(t *testing.T, bin string, r *report) {
	const minutes = 10
	if os.Getenv("DRAGOMAN_BENCH_ONLY") != "minutes" {
		return
	}
	h := newHouse(t, bin, plan{})
	d := h.start()
	defer d.stop()
	for i := range minutes {
		warm := time.Duration(0)
		if i == 0 {
			warm = 3 * time.Second
		}
		b := h.saturate(d.used, 200, warm, time.Minute)
		now, peak := d.memory()
		t.Logf("minute %d: %d turns, %d MB resident (its own %d MB), %d MB at its peak", i+1, b.answers, now>>20, d.own()>>20, peak>>20)
	}
}

// measureCrowd: a thousand people at once, and a model that takes its time.
func measureCrowd(t *testing.T, bin string, r *report) {
	h := newHouse(t, bin, plan{latency: crowdLatency, far: true})
	d := h.start()
	defer d.stop()
	h.people.reset()
	for i := range crowd {
		h.people.ask(firstChat + int64(i))
	}
	h.settle()
	r.crowd = h.people.times()
	_, r.crowdPeak = d.memory()
}

const (
	crowd        = 1000
	crowdLatency = 2 * time.Second
)

// measurePast: starts, idle memory and turns on top of a long past.
func measurePast(t *testing.T, bin string, r *report) {
	const starts = 11
	state := past(t, history{conversations: pastConversations, pairs: 1, long: pastMessages})
	r.database = size(t, state)
	full := newHouse(t, bin, plan{state: state})
	empty := newHouse(t, bin, plan{})
	for range starts {
		for _, s := range []struct {
			h   *house
			out *starting
		}{{full, &r.full}, {empty, &r.empty}} {
			d := s.h.start()
			s.out.polled = append(s.out.polled, d.polled)
			s.out.cpu = append(s.out.cpu, d.cpu)
			d.stop()
		}
	}
	slices.Sort(r.full.polled)
	slices.Sort(r.empty.polled)
	slices.Sort(r.full.cpu)
	slices.Sort(r.empty.cpu)

	d := empty.start()
	rest(t, 5*time.Second)
	r.empty.idle, _ = d.memory()
	r.empty.own = d.own()
	d.stop()
	d = full.start()
	defer d.stop()
	rest(t, 5*time.Second)
	r.full.idle, _ = d.memory()
	r.full.own = d.own()
	measureLong(full, r)
	d.stop()
	r.inLong, r.inNew = measureInside(t, state, 200)
}

const (
	pastConversations = 100_000
	pastMessages      = 100_000
)

// rest lets a daemon be idle for a while: the time is what is measured.
func rest(t *testing.T, long time.Duration) {
	t.Helper()
	select {
	case <-time.After(long):
	case <-t.Context().Done():
	}
}

// measureLong compares turns in a chat with a long past with turns in a new
// one, in pairs, so that both meet the same machine.
func measureLong(h *house, r *report) {
	const pairs = 200
	ratios := make([]float64, 0, pairs)
	for range 10 {
		h.alone(longChat, 1)
		h.alone(firstChat, 1)
	}
	for i := range pairs {
		// Who is first would be at a disadvantage if it were always the same.
		order := []int64{longChat, firstChat}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		took := map[int64]time.Duration{}
		for _, chat := range order {
			h.alone(chat, 1)
			if times := h.people.times(); len(times) == 1 {
				took[chat] = times[0]
			}
		}
		if took[firstChat] == 0 || took[longChat] == 0 {
			h.t.Errorf("a pair of turns has no times")
			return
		}
		r.long, r.new = append(r.long, took[longChat]), append(r.new, took[firstChat])
		ratios = append(ratios, float64(took[longChat])/float64(took[firstChat]))
	}
	slices.Sort(r.long)
	slices.Sort(r.new)
	slices.Sort(ratios)
	r.ratio = ratios[len(ratios)/2]
}

// measureSize: the binary, as it is built and with symbols.
func measureSize(t *testing.T, bin string, r *report) {
	for _, b := range []struct {
		path string
		out  *int64
	}{{bin, &r.stripped}, {build(t, "-ldflags="), &r.binary}} {
		info, err := os.Stat(b.path)
		if err != nil {
			t.Fatal(err)
		}
		*b.out = info.Size()
	}
}
