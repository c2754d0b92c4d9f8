package mcp

import "time"

const (
	// paceBurst bytes of a program are read as fast as they come, and then paceRate a second. A
	// line counts as perLine more. Without that, a program that writes without an end would
	// keep a processor busy for as long as it runs.
	paceBurst = 64 << 20
	paceRate  = 4 << 20
	perLine   = 512
)

// pace slows down whoever reads what a program writes. The program then waits in its pipe.
type pace struct {
	at   time.Time
	owed int // bytes that were read faster than paceRate
}

// spend counts bytes that were read, and waits if they are too many.
func (p *pace) spend(n int) {
	now := time.Now()
	if passed := now.Sub(p.at); passed < time.Minute {
		p.owed -= int(passed.Seconds() * paceRate)
	} else {
		p.owed = 0
	}
	p.at = now
	p.owed = max(p.owed, 0) + n
	if over := p.owed - paceBurst; over > 0 {
		time.Sleep(time.Duration(over) * time.Second / paceRate)
	}
}
