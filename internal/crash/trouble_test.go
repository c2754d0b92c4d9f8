package crash_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/internal/testkit/pgtest"
)

// trouble is something that happens to the cluster, mostly to one node.
type trouble struct {
	name string
	do   func(*cluster, *node)
}

// troubles are all kinds.
var troubles = []trouble{
	{"kill -9, back soon", func(_ *cluster, n *node) {
		n.signal(syscall.SIGKILL, rest)
		time.Sleep(rest)
	}},
	{"kill -9, gone for long", func(_ *cluster, n *node) {
		n.signal(syscall.SIGKILL, lease+time.Second)
		time.Sleep(lease + time.Second)
	}},
	{"freeze", func(_ *cluster, n *node) { n.freeze(lease + 2*time.Second) }},
	{"connections cut", func(_ *cluster, n *node) { n.proxy.cut() }},
	{"connections slow", func(_ *cluster, n *node) {
		n.proxy.slow(50 * time.Millisecond)
		time.Sleep(2 * time.Second)
		n.proxy.slow(0)
	}},
	{"parted from PostgreSQL", func(c *cluster, n *node) {
		servers := []string{local(c.primary.Port()), local(c.standby.Port())}
		n.proxy.hold(servers...)
		time.Sleep(lease + time.Second)
		n.proxy.pass(servers...)
	}},
	{"PostgreSQL crashes", func(c *cluster, _ *node) { c.without(func() { c.primary.Crash(); c.primary.Start(c.t) }) }},
	{"failover", func(c *cluster, _ *node) { c.failover(false) }},
	{"failover of a primary that falls silent", func(c *cluster, _ *node) { c.failover(true) }},
	{"rolling restart", func(c *cluster, _ *node) { c.roll() }},
}

// fault is a trouble that happened.
type fault struct {
	span
	name string
	node *node // nil: all
}

// trouble lets something happen to a node, in each second case one that holds a
// lease, and waits a little.
func (c *cluster) trouble(tr trouble) {
	n := c.nodes[c.rand.IntN(len(c.nodes))]
	if held := c.holding(); c.rand.IntN(2) == 0 && len(held) > 0 {
		n = held[c.rand.IntN(len(held))]
	}
	f := fault{name: tr.name, node: n, span: span{from: time.Now()}}
	c.t.Logf("%s: %s, %s", f.from.Format("15:04:05.000"), n.name, tr.name)
	tr.do(c, n)
	f.to = time.Now()
	c.mu.Lock()
	c.faults = append(c.faults, f)
	c.mu.Unlock()
	// What comes before all is well again is a trouble of its own.
	pause := time.Second
	if c.long {
		pause = lease
	}
	time.Sleep(pause + time.Duration(c.rand.Int64N(int64(pause))))
}

// without has PostgreSQL be away while do runs, and until it takes a write.
func (c *cluster) without(do func()) {
	from := time.Now()
	do()
	for pgtest.Do(c.t.Context(), c.primary.URL(database), "SELECT txid_current()") != nil {
		time.Sleep(10 * time.Millisecond)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = append(c.away, span{from, time.Now()})
}

// failover loses the primary for good, whose machine refuses connections, or says
// nothing any more. What was the standby takes its place, and gets a new standby
// where the primary was.
func (c *cluster) failover(silent bool) {
	lost := c.primary
	c.without(func() {
		for _, n := range c.nodes {
			if silent {
				n.proxy.hold(local(lost.Port()))
			}
		}
		lost.Crash()
		c.standby.Promote(c.t)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.primary = c.standby
	})
	if silent {
		time.Sleep(lease / 2)
	}
	next := c.primary.Standby(c.t, lost)
	c.standby = &next
	for _, n := range c.nodes {
		n.proxy.pass(local(lost.Port()))
	}
}

// roll restarts all nodes, one after the other, as for a new version.
func (c *cluster) roll() {
	for _, n := range c.nodes {
		n.ready() // what just starts does not hear the signal
		before := n.count()
		n.signal(syscall.SIGTERM, 0)
		for n.count() == before {
			time.Sleep(10 * time.Millisecond)
		}
		if !n.ready() {
			c.t.Errorf("%s does not come back", n.name)
		}
	}
}

// holding are the nodes that hold a lease now.
func (c *cluster) holding() (held []*node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := map[string]*node{}
	for _, h := range c.holders {
		now[h.lease] = h.node
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		held = append(held, now[name])
	}
	return held
}

// holding is who held a lease from some time on.
type holding struct {
	lease string
	node  *node
	since time.Time
}

// watch notes who holds which lease, until ctx ends.
func (c *cluster) watch(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			conn.Close(context.Background())
		}
	}()
	now := map[string]string{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		bound, cancel := context.WithTimeout(ctx, time.Second)
		if conn == nil || conn.IsClosed() {
			c.mu.Lock()
			url := c.primary.URL(database)
			c.mu.Unlock()
			conn, _ = pgx.Connect(bound, url)
		}
		if conn != nil {
			c.look(bound, conn, now)
		}
		cancel()
	}
}

// look notes whose leases have changed hands.
func (c *cluster) look(ctx context.Context, conn *pgx.Conn, now map[string]string) {
	list, err := conn.Query(ctx, `SELECT l.name, n.host FROM dragoman.leases l JOIN dragoman.nodes n ON n.id = l.node WHERE n.expires > clock_timestamp() AND l.name LIKE 'channel:%'`)
	if err != nil {
		return
	}
	var name, host string
	at := time.Now()
	_, _ = pgx.ForEachRow(list, []any{&name, &host}, func() error {
		i := slices.IndexFunc(c.nodes, func(n *node) bool { return strings.HasSuffix(host, ":"+n.state) })
		if i >= 0 && now[name] != host {
			c.mu.Lock()
			defer c.mu.Unlock()
			now[name] = host
			c.holders = append(c.holders, holding{name, c.nodes[i], at})
		}
		return nil
	})
}
