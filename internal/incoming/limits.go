package incoming

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"dragoman/internal/respond"
)

// count counts a call, unless there were too many in the last hour. release takes it back.
func (k *hook) count(now time.Time) (release func(), err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.recent) > 0 && now.Sub(k.recent[0]) >= time.Hour {
		k.recent = k.recent[1:]
	}
	if len(k.recent) >= k.PerHour {
		return nil, &respond.Refusal{
			Status: http.StatusTooManyRequests, RetryAfter: time.Hour - now.Sub(k.recent[0]),
			Sentence: fmt.Sprintf("This hook may be called %d times an hour.", k.PerHour),
		}
	}
	k.recent = append(k.recent, now)
	return func() { k.release(now) }, nil
}

func (k *hook) release(at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, one := range k.recent {
		if one.Equal(at) {
			k.recent = append(k.recent[:i:i], k.recent[i+1:]...)
			return
		}
	}
}

const (
	// wrongEvery and wrongBurst limit the wrong calls of one address. Right ones of the
	// same address are refused, too, until it may have one more: so it is behind no proxy
	// that we do not know.
	wrongEvery = time.Second
	wrongBurst = 60
	// maxPeers is how many addresses are counted. Each has some 100 bytes.
	maxPeers = 4096
)

// peers limits wrong calls by the address that they come from.
type peers struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[string]*rate.Limiter
}

// may reports whether peer may call.
func (p *peers) may(peer string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.of[peer]
	return l == nil || l.TokensAt(p.now()) >= 1
}

// failed counts a wrong call of peer.
func (p *peers) failed(peer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.of) >= maxPeers {
		p.of = nil // all begin again, which grants each one more burst at worst
	}
	if p.of == nil {
		p.of = map[string]*rate.Limiter{}
	}
	l := p.of[peer]
	if l == nil {
		l = rate.NewLimiter(rate.Every(wrongEvery), wrongBurst)
		p.of[peer] = l
	}
	l.AllowN(p.now(), 1)
}
