package gateway

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"dragoman/channels"
)

// limiter allows each person a number of messages a minute.
type limiter struct {
	perMinute int // negative: no limit
	now       func() time.Time
	mu        sync.Mutex
	people    map[string]*rate.Limiter
}

// maxPeopleKept bounds the memory. Beyond it everybody starts afresh, which at
// worst grants one more minute's worth of messages.
const maxPeopleKept = 10_000

func (l *limiter) allow(person string) bool {
	if l.perMinute < 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.people == nil || len(l.people) > maxPeopleKept {
		l.people = make(map[string]*rate.Limiter)
	}
	lim := l.people[person]
	if lim == nil {
		lim = rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)
		l.people[person] = lim
	}
	return lim.AllowN(l.now(), 1)
}

type recentNotices struct {
	mu   sync.Mutex
	last map[channels.Key]notice
}

type notice struct {
	text string
	at   time.Time
}

// noticeEvery is for how long a chat does not get the same refusal again.
const noticeEvery = time.Minute

// first reports whether k did not get text within every, and remembers it.
func (n *recentNotices) first(k channels.Key, text string, now time.Time, every time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.last) > maxPeopleKept {
		clear(n.last)
	}
	if last, ok := n.last[k]; ok && last.text == text && now.Sub(last.at) < every {
		return false
	}
	n.last[k] = notice{text, now}
	return true
}

func (n *recentNotices) clear(k channels.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.last, k)
}
