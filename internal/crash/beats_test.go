package crash_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/sessions"
)

// jobs is how many a cluster has. Half of them are due at each full minute, the
// others one after the other, once a minute each.
const jobs = 20

// jobChat is the number of the person on Telegram to whom all jobs report.
const jobChat = firstChat - 1

// jobs is their part of the configuration.
func (c *cluster) jobs() string {
	var b strings.Builder
	for i := range jobs {
		when := `cron: "* * * * *"`
		if i%2 == 1 {
			when = "every: 1m"
		}
		fmt.Fprintf(&b, "    - {name: job%d, %s, target: \"telegram:%d\", prompt: Count for job%d.}\n", i, when, jobChat, i)
	}
	return b.String()
}

// plan has the jobs with an interval begin at different times. Those with a
// calendar are new to all nodes at once.
func (c *cluster) plan() {
	store := c.open()
	defer store.Close()
	for i := 1; i < jobs; i += 2 {
		at := time.Now().Add(time.Duration(i+1) * time.Minute / jobs).Truncate(time.Second)
		if err := store.Plan(c.t.Context(), fmt.Sprint("job", i), time.Time{}, at); err != nil {
			c.t.Fatal(err)
		}
	}
}

var jobPrompt = regexp.MustCompile(`Count for (job\d+)`)

// beat answers a request of a job, if it is one. No two answers are the same.
func (c *cluster) beat(x *agenttest.Exchange) bool {
	name := jobPrompt.FindStringSubmatch(strings.Join(x.Request.Input(), " "))
	if name == nil || len(x.Request.Tools) == 0 {
		return false
	}
	x.Text(fmt.Sprintf("%s counts %d.", name[1], c.counted.Add(1)))
	x.End("stop")
	return true
}

// beats are the occurrences of all jobs.
type beats struct {
	all, ran, skipped, missed int
	marked, repeated          int // of their answers
}

func (b beats) String() string {
	return fmt.Sprintf("occurrences %d (ran %d, skipped %d, missed %d), their answers with the mark %d, of those seen twice %d", b.all, b.ran, b.skipped, b.missed, b.marked, b.repeated)
}

// beats wants one outcome for each time at which a job was due, and one answer
// for each occurrence that ran.
func (c *cluster) beats() (b beats) {
	c.t.Helper()
	store := c.open()
	defer store.Close()
	due := map[string][]sessions.Occurrence{}
	turns := map[string]string{}  // by job and due time
	said := map[string][]string{} // by turn
	err := store.Dump(c.t.Context(), nil, func(r sessions.Record) error {
		if o := r.Occurrence; o != nil {
			due[o.Job] = append(due[o.Job], *o)
		}
		if in := r.Inbox; in != nil && in.Job != "" {
			turns[fmt.Sprint(in.Job, " ", in.JobDue.Unix())] = fmt.Sprintf("%s#%d", in.Inbound.Key, in.Seq)
		}
		if o := r.Outbox; o != nil && o.Kind == channels.KindJob {
			said[o.Turn] = append(said[o.Turn], o.Text)
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	plain, marked := map[string]int{}, map[string]int{}
	for _, text := range c.nets[0].api.FromBot(jobChat) {
		if rest, again := strings.CutPrefix(text, repeatMark); again {
			marked[rest]++
			b.marked++
		} else if !strings.HasSuffix(text, unfinished) {
			plain[text]++
		}
	}
	for i := range jobs {
		name := fmt.Sprint("job", i)
		slices.SortFunc(due[name], func(a, b sessions.Occurrence) int { return a.Due.Compare(b.Due) })
		for _, flaw := range b.rhythm(due[name], c.began, c.ended) {
			c.t.Errorf("the occurrences of %s: %s", name, flaw)
		}
		for _, o := range due[name] {
			texts := said[turns[fmt.Sprint(name, " ", o.Due.Unix())]]
			want := 0
			if o.Outcome == "ran" {
				want = 1
			}
			if len(texts) != want {
				c.t.Errorf("%s: the occurrence of %s (%s %s) has the answers %q", name, o.Due.Format("04:05"), o.Outcome, o.Why, texts)
			}
			for _, text := range texts {
				if plain[text] > 1 || plain[text]+marked[text] == 0 {
					c.t.Errorf("%s: the answer %q is shown %d times, and %d times with the mark", name, text, plain[text], marked[text])
				}
				b.repeated += max(0, plain[text]+marked[text]-1)
				delete(plain, text)
				delete(marked, text)
			}
		}
	}
	for text := range plain {
		c.t.Errorf("%q is shown and answers no occurrence", text)
	}
	for text := range marked {
		c.t.Errorf("%q is shown and answers no occurrence", text)
	}
	return b
}

// rhythm says what is wrong with the occurrences of a job, which are in order: they
// reach from began to ended, a minute apart, and each has an outcome.
func (b *beats) rhythm(list []sessions.Occurrence, began, ended time.Time) (flaws []string) {
	flaw := func(format string, args ...any) { flaws = append(flaws, fmt.Sprintf(format, args...)) }
	at := began.Add(time.Minute)
	for i, o := range list {
		if i > 0 && !o.Due.Equal(at) || i == 0 && o.Due.After(at) {
			flaw("one comes at %s (%s), want %s", o.Due.Format("04:05"), o.Outcome, at.Format("04:05"))
		}
		stands := 1
		switch o.Outcome {
		case "ran":
			b.ran++
		case "skipped":
			b.skipped++
		case "missed":
			_, _ = fmt.Sscanf(o.Why, "%d occurrences", &stands) // one: it says so in words
			b.missed += stands
		default:
			flaw("that of %s is %s in the end", o.Due.Format("04:05"), o.Outcome)
		}
		b.all += stands
		at = o.Due.Add(time.Duration(stands) * time.Minute)
	}
	if at.Before(ended) {
		flaw("none comes at %s, want them until %s", at.Format("04:05"), ended.Format("04:05"))
	}
	return flaws
}

func TestRhythmFindsFlaws(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)
	ran := func(minutes ...int) (list []sessions.Occurrence) {
		for _, m := range minutes {
			list = append(list, sessions.Occurrence{Due: began.Add(time.Duration(m)*time.Minute - 10*time.Second), Outcome: "ran"})
		}
		return list
	}
	with := func(list []sessions.Occurrence, at int, outcome, why string) []sessions.Occurrence {
		list[at].Outcome, list[at].Why = outcome, why
		return list
	}
	for name, tt := range map[string]struct {
		list []sessions.Occurrence
		want string
	}{
		"good":          {ran(1, 2, 3, 4), ""},
		"never due":     {nil, "none comes at 01:30, want them until 04:50"},
		"one is absent": {ran(1, 2, 4), "one comes at 04:20 (ran), want 03:20"},
		"twice":         {ran(1, 2, 2, 3, 4), "one comes at 02:20 (ran), want 03:20"},
		"a late start":  {ran(2, 3, 4), "one comes at 02:20 (ran), want 01:30"},
		"an early end":  {ran(1, 2, 3), "none comes at 04:20, want them until 04:50"},
		"two missed":    {with(ran(1, 2, 4), 1, "missed", "2 occurrences came due while the daemon could not run them"), ""},
		"one missed":    {with(ran(1, 2, 4), 1, "missed", "it came due while the daemon could not run it"), "one comes at 04:20 (ran), want 03:20"},
		"unfinished":    {with(ran(1, 2, 3, 4), 3, "fired", ""), "that of 04:20 is fired in the end"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(new(beats).rhythm(tt.list, began, began.Add(4*time.Minute+20*time.Second)), "; "); got != tt.want {
				t.Errorf("flaws = %q, want %q", got, tt.want)
			}
		})
	}
}
