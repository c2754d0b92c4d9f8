package crash_test

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"dragoman/sessions"
)

// jobs is how many a cluster has. Each is due once a minute.
const jobs = 20

// jobChat is the number of the person on Telegram to whom all jobs report.
const jobChat = firstChat - 1

// jobs is their part of the configuration.
func (c *cluster) jobs() string {
	var b strings.Builder
	for i := range jobs {
		when := `cron: "* * * * *"`
		if i%2 == 1 {
			when = "every: 1m" // from the first start on
		}
		fmt.Fprintf(&b, "    - {name: job%d, %s, target: \"telegram:%d\", prompt: Count.}\n", i, when, jobChat)
	}
	return b.String()
}

// occurrences wants one outcome for each time at which a job was due, and returns
// how many there were, and how many of them nobody could fire.
func (c *cluster) occurrences() (all, missed int) {
	c.t.Helper()
	store := c.open()
	defer store.Close()
	due := map[string][]sessions.Occurrence{}
	err := store.Dump(c.t.Context(), nil, func(r sessions.Record) error {
		if o := r.Occurrence; o != nil {
			due[o.Job] = append(due[o.Job], *o)
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range jobs {
		name := fmt.Sprint("job", i)
		list := due[name]
		slices.SortFunc(list, func(a, b sessions.Occurrence) int { return a.Due.Compare(b.Due) })
		if len(list) == 0 {
			c.t.Errorf("job %s was never due", name)
		}
		for at, o := range list {
			stands := 1
			if o.Outcome == "missed" {
				_, _ = fmt.Sscanf(o.Why, "%d occurrences", &stands)
				missed += stands
			}
			all += stands
			next := o.Due.Add(time.Duration(stands) * time.Minute)
			if at+1 < len(list) && !list[at+1].Due.Equal(next) {
				c.t.Errorf("job %s: after the occurrence of %s (%s, %s) comes that of %s, want %s", name, o.Due.Format("04:05"), o.Outcome, o.Why, list[at+1].Due.Format("04:05"), next.Format("04:05"))
			}
			if o.Outcome == "fired" || o.Outcome == "failed" {
				c.t.Errorf("job %s: the occurrence of %s is %s in the end", name, o.Due, o.Outcome)
			}
		}
	}
	return all, missed
}

// within is how much of s is in one of list, which do not overlap.
func (s span) within(list []span) (d time.Duration) {
	for _, o := range list {
		from, to := o.from, o.to
		if from.Before(s.from) {
			from = s.from
		}
		if to.After(s.to) {
			to = s.to
		}
		d += max(0, to.Sub(from))
	}
	return d
}

// waits is how long the messages of a network waited for their answers, without
// the time in which there was no PostgreSQL.
func (c *cluster) waits(net *campaign) (all []time.Duration) {
	for chat := range chats {
		shown, when := net.people.shown(chat), net.people.when(chat)
		seen := map[int]bool{}
		for i, text := range shown {
			if strings.HasSuffix(text, unfinished) && !strings.HasSuffix(text, "done.") || replied(text) {
				continue
			}
			for _, mark := range marks(text) {
				if said, ok := net.talk.said[mark]; ok && !seen[mark] {
					seen[mark] = true
					s := span{said, when[i]}
					all = append(all, when[i].Sub(said)-s.within(c.away))
					if all[len(all)-1] > lease {
						c.t.Logf("#%d in %s:%s waited %s, from %s on, of which %s without PostgreSQL; the model was asked at %v", mark, net.channel, net.people.name(chat),
							s.to.Sub(s.from).Round(time.Millisecond), said.Format("15:04:05.000"), s.within(c.away), net.askedAt(mark))
					}
				}
			}
		}
	}
	return all
}

// askedAt is when the model was asked about a message.
func (u *unrest) askedAt(mark int) (times []string) {
	for _, q := range u.asked {
		if slices.Contains(q.marks, mark) {
			times = append(times, q.at.Format("04:05.000"))
		}
	}
	return times
}

// percentile is that of a sorted list.
func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[(len(list)-1)*p/100].Round(time.Millisecond)
}

// takeovers is how long leases were without a holder after their node was lost.
func (c *cluster) takeovers() (all map[string][]time.Duration) {
	all = map[string][]time.Duration{}
	for _, f := range c.faults {
		if f.name != "kill -9, gone for long" && f.name != "freeze" && f.name != "parted from PostgreSQL" {
			continue
		}
		held := map[string]*node{}
		for _, h := range c.holders {
			if h.since.After(f.from) && held[h.lease] == f.node && h.node != f.node {
				all[f.name] = append(all[f.name], h.since.Sub(f.from).Round(10*time.Millisecond))
			}
			if h.since.Before(f.to) {
				held[h.lease] = h.node
			}
		}
	}
	return all
}

// judge judges everything and prints the figures in one line, the last one.
func (c *cluster) judge(took time.Duration) {
	c.t.Helper()
	var v verdict
	var waits []time.Duration
	messages := 0
	for i, net := range c.nets {
		own := net.verdict()
		own.check(c.t)
		messages += net.talk.messages - i*firstMark
		v.answers += own.answers
		v.marked += own.marked
		v.repeated += own.repeated
		v.leftovers += own.leftovers
		waits = append(waits, c.waits(net)...)
	}
	slices.Sort(waits)
	// A machine with other work delays everything: the short form tells nothing.
	if most := lease + 2*time.Second; c.long && percentile(waits, 99) > most {
		c.t.Errorf("the 99th percentile of the waiting time is %s, want at most %s", percentile(waits, 99), most)
	}
	due, missed := c.occurrences()
	told := 0
	for _, text := range c.nets[0].api.FromBot(jobChat) {
		if !strings.HasSuffix(text, unfinished) && !strings.HasPrefix(text, repeatMark) {
			told++
		}
	}
	if told != due-missed {
		c.t.Errorf("jobs have %d answers for %d occurrences, of which %d were missed", told, due, missed)
	}
	for _, n := range c.nodes {
		n.judge()
		c.t.Log(n)
		if c.t.Failed() {
			keepLog(c.t, n.log())
		}
	}
	happened := map[string]int{}
	for _, f := range c.faults {
		happened[f.name]++
	}
	var names []string
	for name, n := range happened {
		names = append(names, fmt.Sprintf("%s %d", name, n))
	}
	sort.Strings(names)
	away := time.Duration(0)
	for _, s := range c.away {
		away += s.to.Sub(s.from)
	}
	c.t.Logf("takeovers: %v", c.takeovers())
	c.t.Logf("%s, %d nodes, %d messages, %d answers, waiting p50 %s p99 %s most %s without the %s of no PostgreSQL; sent with the mark %d, of those seen twice %d; unfinished previews %d; occurrences %d, missed %d, answers %d; %s",
		took.Round(time.Second), len(c.nodes), messages, v.answers, percentile(waits, 50), percentile(waits, 99), percentile(waits, 100), away.Round(100*time.Millisecond),
		v.marked, v.repeated, v.leftovers, due, missed, told, strings.Join(names, ", "))
}
