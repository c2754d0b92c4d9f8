package storetest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// The kill test runs this binary again as a child that uses a store and writes a
// line to its standard output after each method that returned:
//
//	accepted KEY N      the store has message N of KEY
//	withdrawn KEY wN    the message wN of KEY was deleted before its turn
//	network  KEY TEXT   the network got a reply (between MarkSending and MarkSent)
//	sent     KEY TEXT   MarkSent returned
//	idle                nothing is open any more
const (
	childPath  = "DRAGOMAN_KILL_CHILD"
	childFrom  = "DRAGOMAN_KILL_FROM"  // the last acknowledged number of each key, with commas
	childDrain = "DRAGOMAN_KILL_DRAIN" // finish all open work, then say idle
	killKeys   = 8
	// withdrawEvery: every so many messages, one more is sent and withdrawn.
	withdrawEvery = 4
)

// record is what the parent has seen acknowledged over all lives.
type record struct {
	accepted [killKeys]int   // the highest number; all below were acknowledged too
	network  [killKeys][]int // what the network got, in order
	sent     [killKeys]map[int]bool
	// withdrawn messages were deleted before their turn; the network and the
	// transcripts must not have them.
	withdrawn map[string]bool
	passing   []string // withdrawals that came too late
}

// warmUp is how many acknowledgements a patient life waits for before its time
// begins, so that there is something to lose on a busy machine, too.
const warmUp = 8

// live runs a child until it is killed after d, or for d 0 until it is idle.
// The time of a patient life begins when it has done something.
func (r *record) live(t *testing.T, path string, d time.Duration, patient bool) {
	t.Helper()
	var from []string
	for _, n := range r.accepted {
		from = append(from, strconv.Itoa(n))
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, childFrom+"="+strings.Join(from, ","))
	if d == 0 {
		cmd.Env = append(cmd.Env, childDrain+"=1")
	}
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := d
	if d == 0 || patient {
		first = time.Minute
	}
	timer := time.AfterFunc(first, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	lines := 0
	idle := r.read(t, out, func() {
		lines++
		if patient && lines == warmUp {
			timer.Reset(d)
		}
	})
	err = cmd.Wait()
	if d == 0 && (err != nil || !idle) {
		t.Fatalf("the last child ended with %v, idle %v", err, idle)
	}
	if d > 0 && (err == nil || cmd.ProcessState.ExitCode() != -1) {
		t.Fatalf("the child was not killed, it ended by itself: %v", err)
	}
}

// read records the lines of a child and calls heard after each.
func (r *record) read(t *testing.T, out io.Reader, heard func()) (idle bool) {
	lines := bufio.NewScanner(out)
	for ; lines.Scan(); heard() {
		f := strings.Fields(lines.Text())
		if len(f) == 1 && f[0] == "idle" {
			return true
		}
		if len(f) != 3 {
			t.Fatalf("the child says %q", lines.Text())
		}
		k, _ := strconv.Atoi(f[1])
		n, err := strconv.Atoi(f[2])
		switch {
		case f[0] == "withdrawn":
			r.withdrawn[f[1]+" "+f[2]] = true
			continue
		case err != nil:
			r.passing = append(r.passing, f[1]+" "+f[2])
			continue
		}
		switch f[0] {
		case "accepted":
			r.accepted[k] = max(r.accepted[k], n)
		case "network":
			r.network[k] = append(r.network[k], n)
			if r.sent[k][n] {
				t.Errorf("reply %d of x:%d went out again after MarkSent had returned", n, k)
			}
		case "sent":
			if r.sent[k] == nil {
				r.sent[k] = map[int]bool{}
			}
			r.sent[k][n] = true
		}
	}
	return false
}

// RunKills uses a store at path in a child process that is killed at random moments,
// and checks that everything acknowledged is there, once and in order. check checks
// the files between two lives, with the store closed; open opens it after the last.
func RunKills(t *testing.T, path string, check func(t *testing.T), open func(t *testing.T) *engine.Store) {
	t.Helper()
	kills := 25
	if s := os.Getenv("DRAGOMAN_KILLS"); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil || kills < 1 {
			t.Fatalf("DRAGOMAN_KILLS=%q, want a number of kills", s)
		}
	} else if testing.Short() {
		kills = 3
	}
	r := record{withdrawn: map[string]bool{}}
	for i := range kills {
		r.live(t, path, 40*time.Millisecond+rand.N(250*time.Millisecond), i%3 == 0)
		// The check may repair the files, so every second life finds them as
		// the kill left them. On a busy machine, the first lives end before
		// there are any.
		if _, err := os.Stat(path); i%2 == 1 && err == nil {
			check(t)
		}
	}
	r.live(t, path, 0, false)
	check(t)
	r.compare(t, open(t), kills)
}

// compare checks that s has everything acknowledged.
func (r *record) compare(t *testing.T, s *engine.Store, kills int) {
	t.Helper()
	repeats, messages := 0, 0
	for k := range killKeys {
		ms, err := s.Messages(t.Context(), channels.MustKey(fmt.Sprintf("x:%d", k)), 0, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		ms = slices.DeleteFunc(ms, func(m sessions.Message) bool {
			if strings.HasPrefix(m.Content, "w") {
				r.passing = append(r.passing, fmt.Sprintf("%d %s", k, m.Content))
				return true
			}
			return m.Synthetic // the note about one of these
		})
		// The store may have one more than was acknowledged: the child died
		// before it could write the line.
		if n := len(ms); n < r.accepted[k] {
			t.Errorf("x:%d has %d messages, %d were acknowledged", k, n, r.accepted[k])
		}
		for i, m := range ms {
			if m.Content != strconv.Itoa(i+1) {
				t.Fatalf("x:%d has %q as message %d", k, m.Content, i+1)
			}
		}
		messages += len(ms)
		distinct := slices.Compact(slices.Clone(r.network[k]))
		for i, n := range distinct {
			if n != i+1 {
				t.Fatalf("x:%d: the network got %d as number %d: %v", k, n, i+1, distinct)
			}
		}
		if len(distinct) != len(ms) {
			t.Errorf("x:%d: the network got %d of %d replies", k, len(distinct), len(ms))
		}
		repeats += len(r.network[k]) - len(distinct)
	}
	r.compareWithdrawn(t, messages)
	if most := kills * killKeys; repeats > most {
		t.Errorf("%d replies went out twice, at most one for each key and kill can: %d", repeats, most)
	}
	if messages < kills { // some lives are short on a busy machine
		t.Errorf("only %d messages in %d lives: the test does not test", messages, kills)
	}
	t.Logf("%d kills, %d messages: none lost, doubled or reordered; %d replies repeated in the marked window; %d withdrawn, none of them answered",
		kills, messages, repeats, len(r.withdrawn))
}

// compareWithdrawn checks that withdrawn messages had no effect.
func (r *record) compareWithdrawn(t *testing.T, messages int) {
	t.Helper()
	for _, text := range r.passing {
		if r.withdrawn[text] {
			t.Errorf("%s was withdrawn and is answered", text)
		}
	}
	if messages > 20*killKeys && len(r.withdrawn) == 0 {
		t.Error("nothing was withdrawn: the test does not test that")
	}
}
