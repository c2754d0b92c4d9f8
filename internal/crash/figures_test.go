package crash_test

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"time"
)

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
			if h.since.After(f.from) && held[h.lease] == f.node {
				all[f.name] = append(all[f.name], h.since.Sub(f.from).Round(10*time.Millisecond))
			}
			held[h.lease] = h.node
			if h.since.After(f.from) {
				held[h.lease] = nil // only the first one took it over
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
	messages, unheard := 0, 0
	if c.irc != nil {
		ended := slices.MaxFunc(c.nodes, func(a, b *node) int { return a.ended.Compare(b.ended) }).ended
		c.irc.listen(ended)
	}
	for i, net := range c.nets {
		own := net.verdict()
		own.check(c.t)
		if own.marked > 0 && net.channel == "whatsapp" {
			c.t.Errorf("%d answers on WhatsApp carry the mark of a possible repeat, want none on a network that deduplicates", own.marked)
		}
		messages += net.talk.messages - i*firstMark
		v.answers += own.answers
		v.marked += own.marked
		v.repeated += own.repeated
		v.leftovers += own.leftovers
		waits = append(waits, c.waits(net)...)
	}
	if c.irc != nil {
		unheard = c.irc.unheard
	}
	slices.Sort(waits)
	// Troubles that overlap, and a machine with other work, delay everything: the
	// short form tells nothing.
	if most := lease + 2*time.Second; c.long && percentile(waits, 99) > most {
		c.t.Errorf("the 99th percentile of the waiting time is %s, want at most %s", percentile(waits, 99), most)
	}
	beats := c.beats()
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
	load, _ := os.ReadFile("/proc/loadavg") // with other work on the machine, everything waits
	c.t.Logf("takeovers: %v", c.takeovers())
	c.t.Logf("%s, %d nodes, %s: %d messages (%d on IRC not heard while a node ended), %d answers, waiting p50 %s p99 %s most %s without the %s of no PostgreSQL; sent with the mark %d, of those seen twice %d; unfinished previews %d; %s; %s; load of the machine %.14s",
		took.Round(time.Second), len(c.nodes), strings.Join(networks, ", "), messages, unheard, v.answers, percentile(waits, 50), percentile(waits, 99), percentile(waits, 100), away.Round(100*time.Millisecond),
		v.marked, v.repeated, v.leftovers, beats, strings.Join(names, ", "), load)
}
