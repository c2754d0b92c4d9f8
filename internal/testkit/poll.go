package testkit

import "time"

// patience is how long a test waits for what should happen soon. A machine with
// other work is slow, and only a test that fails waits so long.
const patience = time.Minute

// Eventually asks done again and again until it says yes. Once it has said no
// for a minute t fails, and says what it waited for.
func Eventually(t TB, what string, done func() bool) {
	t.Helper()
	if !Poll(patience, done) {
		t.Fatalf("waited %s in vain for %s", patience, what)
	}
}

// Poll is [Eventually] for a test that says by itself what is wrong: it reports
// whether done said yes within limit. It is for what gives no sign, because it
// happens in another process or behind a socket.
func Poll(limit time.Duration, done func() bool) bool {
	timeout, tick := time.NewTimer(limit), time.NewTicker(5*time.Millisecond)
	defer timeout.Stop()
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-timeout.C:
			return done()
		}
	}
	return true
}
