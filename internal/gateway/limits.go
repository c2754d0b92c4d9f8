package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"dragoman/channels"
)

// limiter gives every person a number of messages a minute.
type limiter struct {
	perMinute int // negative: no limit
	now       func() time.Time
	mu        sync.Mutex
	people    map[string]*rate.Limiter
}

// peopleKept bounds the limiter's memory. When it is reached everybody starts
// afresh, which at worst grants one more minute's worth of messages.
const peopleKept = 10_000

func (l *limiter) allow(person string) bool {
	if l.perMinute < 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.people == nil || len(l.people) > peopleKept {
		l.people = make(map[string]*rate.Limiter)
	}
	lim := l.people[person]
	if lim == nil {
		lim = rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)
		l.people[person] = lim
	}
	return lim.AllowN(l.now(), 1)
}

// notices remembers what a chat was told lately, so that it is told once.
type notices struct {
	mu   sync.Mutex
	last map[channels.Key]notice
}

type notice struct {
	text string
	at   time.Time
}

// noticeEvery is how long the same notice is not repeated in a chat.
const noticeEvery = time.Minute

// first reports whether text is news for k, which was not told it for as long
// as every says, and remembers it.
func (n *notices) first(k channels.Key, text string, now time.Time, every time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil || len(n.last) > peopleKept {
		n.last = make(map[channels.Key]notice)
	}
	if last, ok := n.last[k]; ok && last.text == text && now.Sub(last.at) < every {
		return false
	}
	n.last[k] = notice{text, now}
	return true
}

func (n *notices) clear(k channels.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.last, k)
}

// busy counts what must not be cut short, and can be closed for good.
type busy struct {
	mu   sync.Mutex
	n    int
	shut bool
	done chan struct{} // made by close, closed when n is 0
}

// begin reports false after close; otherwise end must be called.
func (b *busy) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut {
		return false
	}
	b.n++
	return true
}

func (b *busy) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n--
	if b.n == 0 && b.shut {
		close(b.done)
	}
}

func (b *busy) close() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.shut {
		b.shut, b.done = true, make(chan struct{})
		if b.n == 0 {
			close(b.done)
		}
	}
	return b.n
}

func (b *busy) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut
}

func (b *busy) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// idle is closed once nothing is busy any more. Only after close.
func (b *busy) idle() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

// backoff doubles from base up to most and adds up to a quarter of jitter.
type backoff struct {
	base, most time.Duration
	n          int
}

func (b *backoff) next() time.Duration {
	d := delay(b.base, b.most, b.n)
	b.n++
	return d
}

func (b *backoff) reset() { b.n = 0 }

// delay is the wait before try number n (from 0).
func delay(base, most time.Duration, n int) time.Duration {
	d := most
	if n < 30 && base<<n < most {
		d = base << n
	}
	return d + rand.N(d/4+1)
}

// sleep waits for d; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// recoverTo turns a panic into an error at *err: one worker's bug must not
// end the others. The stack names functions and lines, never chat text; the
// value may hold some, unless the runtime made it.
func recoverTo(err *error, what string) {
	if r := recover(); r != nil {
		value := fmt.Sprintf("%T", r)
		if e, ok := r.(runtime.Error); ok {
			value = e.Error()
		}
		*err = fmt.Errorf("gateway: %s panicked: %s\n%s", what, value, debug.Stack())
	}
}

// clipText cuts s to at most n bytes at a rune's border.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n]) + "…"
}

func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
