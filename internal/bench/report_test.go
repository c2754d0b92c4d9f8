package bench_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// report is what was measured.
type report struct {
	alone, light     []time.Duration
	lightOthers      float64       // cores that other programs used
	lightCPU         time.Duration // of the daemon, for each turn
	lightPeak        int64
	busy             busy
	busyCalls        int
	busyPeak         int64
	crowd            []time.Duration
	crowdPeak        int64
	full, empty      starting
	database         int64
	long, new        []time.Duration
	ratio            float64
	inLong, inNew    inside
	prefix           shared
	between          shared // the same, without the requests that follow a summary
	binary, stripped int64
	hash             time.Duration
	fsync            time.Duration
	took             time.Duration
}

// starting is what some starts took, and the memory of the last one.
type starting struct {
	polled, cpu []time.Duration
	idle, own   int64 // resident, and the written pages of it
}

// newReport measures the disk and the CPU at once, as a scale for all that follows.
func newReport(t *testing.T) *report { return &report{fsync: fsync(t), hash: hash()} }

// fsync is how long the disk takes to make a block of a growing file durable.
func fsync(t *testing.T) time.Duration {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "fsync")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var took []time.Duration
	block := make([]byte, 4096)
	for range 200 {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return percentile(took, 50)
}

// hash is how long one core takes for a fixed amount of work, at its best: on
// a machine that is shared it tells a slow day from slow code.
func hash() time.Duration {
	block := make([]byte, 16<<20)
	best := time.Hour
	for range 5 {
		began := time.Now()
		sha256.Sum256(block)
		best = min(best, time.Since(began))
	}
	return best
}

// percentile finds the p-th of what is sorted; 0 if there is nothing.
func percentile[T cmp.Ordered](sorted []T, p int) (none T) {
	if len(sorted) == 0 {
		return none
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// ms writes a time in milliseconds with as many digits as it deserves.
func ms(d time.Duration) string {
	digits := 1
	if d >= 100*time.Millisecond {
		digits = 0
	} else if d < 10*time.Millisecond {
		digits = 2
	}
	return fmt.Sprintf("%.*f ms", digits, float64(d)/1e6)
}

func mb(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }

func spread(sorted []time.Duration) string {
	return fmt.Sprintf("p50 %s, p99 %s", ms(percentile(sorted, 50)), ms(percentile(sorted, 99)))
}

// share is part of whole in percent.
func share(part, whole int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(whole, 1)))
}

func (r *report) String() string {
	var b strings.Builder
	line := func(what, goal, got string) { fmt.Fprintf(&b, "| %s | %s | %s |\n", what, goal, measured(goal, got)) }
	each := func(d time.Duration) string { return ms(d / time.Duration(max(r.busy.answers, 1))) }
	worst := func(sorted []time.Duration) string { return ms(percentile(sorted, 100)) }

	b.WriteString("| what | goal | measured |\n|---|---|---|\n")
	line("added time per turn, one chat, one message at a time", "p50 ≤ 3 ms, p99 ≤ 25 ms", spread(r.alone))
	line("added time per turn, 200 chats, 100 messages a second", "p50 ≤ 3 ms, p99 ≤ 25 ms", spread(r.light))
	line("turns per second, 200 chats, saturated", "≥ 1000", fmt.Sprintf("%.0f", float64(r.busy.answers)/max(r.busy.window.Seconds(), 1e-9)))
	line("the daemon's own CPU time per turn, saturated", "-", each(r.busy.daemon))
	line("1000 chats at once, model latency 2 s: slowest answer", "≤ 2.5 s", fmt.Sprintf("%.2f s", percentile(r.crowd, 100).Seconds()))
	line("the same: p50", "-", fmt.Sprintf("%.2f s", percentile(r.crowd, 50).Seconds()))
	line("start to first poll, 100,000 stored conversations", "≤ 150 ms", fmt.Sprintf("median %s, slowest %s", ms(percentile(r.full.polled, 50)), worst(r.full.polled)))
	line("start to first poll, empty store", "-", fmt.Sprintf("median %s, slowest %s", ms(percentile(r.empty.polled, 50)), worst(r.empty.polled)))
	line("memory idle, 100,000 stored conversations", "≤ 30 MB", mb(r.full.idle)+", its own "+mb(r.full.own))
	line("memory idle, empty store", "≤ 30 MB", mb(r.empty.idle)+", its own "+mb(r.empty.own))
	line("memory at its peak: saturated", "≤ 80 MB", mb(r.busyPeak))
	line("memory at its peak: 1000 chats at once", "≤ 80 MB", mb(r.crowdPeak))
	line("added time in a chat of 100,000 messages against a new one", "≤ 1.2 ×", fmt.Sprintf("%.2f ×", r.ratio))
	line("prompt bytes that repeat the request before", "≥ 95 %", share(r.prefix.repeated, r.prefix.before))
	line("the same, as long as nothing is summarised", "≥ 99 %", share(r.between.repeated, r.between.before))
	line("size of the binary, without symbols and with", "-", mb(r.stripped)+", "+mb(r.binary))
	fmt.Fprintln(&b)
	r.details(&b)
	return b.String()
}

// details say what stands behind the numbers.
func (r *report) details(b *strings.Builder) {
	note := func(format string, args ...any) { fmt.Fprintf(b, "- "+format+"\n", args...) }
	cores := func(d time.Duration) float64 { return d.Seconds() / max(r.busy.window.Seconds(), 1e-9) }
	note("The machine: %d cores, %s, %s/%s; writing and fsyncing 4 KiB takes %s (median), the SHA-256 of 16 MiB %s (at best).", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, ms(r.fsync), ms(r.hash))
	note("Light load: %d turns alone, %d at 100 a second; the slowest took %s and %s. The daemon used %s of CPU time for each of the latter, and %s of memory at its peak; other programs used %.2f cores.",
		len(r.alone), len(r.light), ms(percentile(r.alone, 100)), ms(percentile(r.light, 100)), ms(r.lightCPU), mb(r.lightPeak), r.lightOthers)
	note("Saturated: %d turns in %.1f s, %s; %d requests to the model in all, summaries included. Of %d cores the daemon used %.2f, the two fake servers and the people %.2f, and other programs %.2f.",
		r.busy.answers, r.busy.window.Seconds(), spread(r.busy.took), r.busyCalls,
		runtime.NumCPU(), cores(r.busy.daemon), cores(r.busy.own), cores(max(r.busy.others, 0)))
	note("Starts: %d of each kind, in turn; CPU time until the first poll (10 ms steps) %s with a database of %s, %s with an empty one. The files were in the page cache.",
		len(r.full.polled), ms(percentile(r.full.cpu, 50)), mb(r.database), ms(percentile(r.empty.cpu, 50)))
	note("Long chat: %d pairs of turns, one in the chat of 100,000 messages and one in a new one. End to end %s against %s (medians). The store alone: history %s against %s, commit %s against %s.",
		len(r.long), ms(percentile(r.long, 50)), ms(percentile(r.new, 50)),
		ms(percentile(r.inLong.history, 50)), ms(percentile(r.inNew.history, 50)), ms(percentile(r.inLong.commit, 50)), ms(percentile(r.inNew.commit, 50)))
	note("Prompts: %d requests of 50 turns in one chat, %d summaries between them; %d requests do not begin with the whole one before. Of the bytes of each request, %s were in the one before.",
		r.prefix.requests, r.prefix.summaries, r.prefix.broken, share(r.prefix.repeated, r.prefix.now))
	note("All of it took %s.", r.took.Round(time.Second))
}

// write puts the report into its place in a document.
func (r *report) write(path string) error {
	return writeSection(path, "bench", "make bench", r.String())
}

func TestPercentile(t *testing.T) {
	var times []time.Duration
	if got := percentile(times, 50); got != 0 {
		t.Errorf("percentile of nothing = %v", got)
	}
	for i := range 200 {
		times = append(times, time.Duration(i+1))
	}
	for p, want := range map[int]time.Duration{0: 1, 50: 101, 99: 199, 100: 200} {
		if got := percentile(times, p); got != want {
			t.Errorf("percentile %d = %d, want %d", p, got, want)
		}
	}
}

func TestParseProc(t *testing.T) {
	stat := "12 (a) b) S 1 12 12 0 -1 4194304 500 0 0 0 130 20 0 0 20 0 8 0 1000 1 2"
	if got, err := parseStat([]byte(stat)); err != nil || got != 1500*time.Millisecond {
		t.Errorf("parseStat = %v, %v, want 1.5s", got, err)
	}
	if _, err := parseStat([]byte("12 (a) S 1")); err == nil {
		t.Error("a cut stat was parsed")
	}
	machine := "cpu  100 20 3 999999 8888 4 5 6 70 80\ncpu0 1 1 1 1\n"
	if got := parseMachine([]byte(machine)); got != 1380*time.Millisecond {
		t.Errorf("parseMachine = %v, want 1.38s", got)
	}
	if got := parseStatus([]byte("Name:\tx\nVmHWM:\t    2048 kB\n"), "VmHWM"); got != 2<<20 {
		t.Errorf("parseStatus = %d, want 2 MiB", got)
	}
}

// publish writes a report into the document that $DRAGOMAN_REPORT names, if any.
func publish(t *testing.T, section, command, text string) {
	t.Helper()
	path := os.Getenv("DRAGOMAN_REPORT")
	if path == "" {
		return
	}
	if err := writeSection(path, section, command, text); err != nil {
		t.Fatal(err)
	}
}
