package crash_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

// lease is how long a node is believed to live that does not renew its row.
const lease = 6 * time.Second

// cluster is some nodes on one database, which has a synchronous standby, and
// people on several networks.
type cluster struct {
	t     *testing.T
	rand  *rand.Rand
	nodes []*node
	nets  []*campaign
	irc   *ircCampaign      // nil: nobody is on IRC
	phone *whatsappCampaign // nil: nobody is on WhatsApp
	long  bool
	// began is when all nodes were up, ended when the first one was told to leave.
	began, ended time.Time
	counted      atomic.Int64 // answers to jobs

	mu      sync.Mutex // of what follows
	primary *pgtest.Server
	standby *pgtest.Server
	away    []span // PostgreSQL
	faults  []fault
	holders []holding
}

// span is a stretch of time.
type span struct{ from, to time.Time }

// firstMark tells the networks apart: the marks of the second one begin here.
const firstMark = 1_000_000

// database is what all nodes share.
const database = "cluster"

func newCluster(t *testing.T, nodes int, seed uint64, networks ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, rand: rand.New(rand.NewPCG(seed, 0))}
	primary := pgtest.New(t, pgtest.Options{Settings: []string{"fsync=on", "full_page_writes=on", "wal_retrieve_retry_interval=200ms"}})
	primary.Do(t, "postgres", "CREATE DATABASE "+database)
	standby := primary.Standby(t, nil)
	c.primary, c.standby = &primary, &standby
	model := agenttest.Serve(t, agenttest.Options{Reply: c.model, Recorded: -1})
	var lines, env []string
	for i, name := range networks {
		net := &campaign{}
		switch name {
		case "telegram":
			lines = append(lines, net.telegram(t, make([]kind, chats)))
			net.api.Private(botapi.Person(jobChat, "Clock"))
		case "irc":
			c.irc = &ircCampaign{pause: 10 * time.Second, frozen: c.frozen}
			lines = append(lines, c.irc.connect(t))
			net = &c.irc.campaign
		case "whatsapp":
			c.phone = &whatsappCampaign{}
			lines = append(lines, c.phone.connect(t))
			net = &c.phone.campaign
		}
		net.t = t
		net.roll(seed + uint64(i) + 1)
		net.bin = build(t)
		net.open = c.open
		net.talk.messages = i * firstMark
		env = append(env, net.env...)
		c.nets = append(c.nets, net)
	}
	for i := range nodes {
		p := newProxy(t, local(primary.Port()), local(standby.Port()))
		url := fmt.Sprintf("postgres://dragoman:%s@%s,%s/%s?sslmode=disable&target_session_attrs=read-write", pgtest.Password, local(p.ports[0]), local(p.ports[1]), database)
		c.nodes = append(c.nodes, newNode(t, fmt.Sprint("node", i+1), build(t), env, p, func(state string) string {
			return fmt.Sprintf(`
state_dir: %s
store: {type: postgres, url: %q}
http: {listen: "off"}
log: {level: info}
model: {type: openai, base_url: %s, name: fake, context_window: 200000}
summary: {trigger: {messages: 30}, keep: {n: 8}}
queue: {rate_per_minute: 0, max_waiting: 1000}
heartbeat:
  jobs:
%schannels:
  %s
`, state, url, model.URL(), c.jobs(), strings.Join(lines, "\n  "))
		}))
	}
	return c
}

func local(port int) string { return fmt.Sprint("127.0.0.1:", port) }

// model answers jobs, and people as in each campaign.
func (c *cluster) model(*agenttest.Request) agenttest.Reply {
	return func(x *agenttest.Exchange) {
		if c.beat(x) {
			return
		}
		if asked := asks(x.Request); len(asked) > 0 {
			c.nets[asked[0]/firstMark].unrest.reply(x)
			return
		}
		reply(x)
	}
}

// open opens the database for a look, while no node runs.
func (c *cluster) open() *engine.Store {
	store, err := postgres.Open(c.t.Context(), c.primary.URL(database), postgres.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	return store
}

// start starts all nodes, waits until they are well, and links WhatsApp.
func (c *cluster) start() {
	c.t.Helper()
	c.plan()
	for _, n := range c.nodes {
		n.live()
		c.t.Cleanup(n.leave)
		if !n.ready() {
			keepLog(c.t, n.log())
			c.t.Fatalf("%s does not start", n.name)
		}
	}
	c.began = time.Now()
	if c.phone == nil {
		return
	}
	c.phone.config = c.nodes[0].config
	var err error
	if c.phone.log, err = os.Create(filepath.Join(c.t.ArtifactDir(), "login.log")); err != nil {
		c.t.Fatal(err)
	}
	defer c.phone.log.Close()
	if said := c.phone.tryLogin(c.t.Context()); !strings.Contains(said, "is linked to "+c.phone.server.Owner().Number()) {
		c.t.Fatalf("login says %q", said)
	}
}

// converse has people talk on all networks until ctx ends.
func (c *cluster) converse(ctx context.Context, every time.Duration) (wait func()) {
	var talking sync.WaitGroup
	for _, net := range c.nets {
		talking.Go(func() { net.converse(ctx, every) })
	}
	return talking.Wait
}

// settle waits until nothing is left to do, and ends the nodes.
func (c *cluster) settle() {
	c.t.Helper()
	var depths string
	well := testkit.Poll(2*time.Minute, func() bool {
		for _, net := range c.nets {
			if !net.people.idle() {
				return false
			}
		}
		time.Sleep(100 * time.Millisecond) // a look costs something
		var idle bool
		depths, idle = c.idle()
		return idle
	})
	for _, n := range c.nodes {
		well = n.ready() && well
	}
	if !well {
		c.t.Errorf("not everything was answered in the end: %s", depths)
	}
	// What is sent twice comes after what was sent: give it time to show.
	time.Sleep(2 * time.Second)
	if !testkit.Poll(time.Minute, c.between) {
		c.t.Error("jobs are always running")
	}
	c.ended = time.Now()
	var leaving sync.WaitGroup
	for _, n := range c.nodes {
		leaving.Go(n.leave)
	}
	leaving.Wait()
}

// between reports whether no job is due soon, or still at work.
func (c *cluster) between() bool {
	admin := api.Dial(filepath.Join(c.nodes[0].state, "dragoman.sock"))
	defer admin.Close()
	list, err := api.ListJobs.Call(c.t.Context(), admin, api.JobQuery{})
	if err != nil || slices.ContainsFunc(list.Data, func(j api.Job) bool { return time.Until(j.Next) < 2*time.Second }) {
		return false
	}
	_, idle := c.idle()
	return idle
}

// idle reports whether nothing is left to do.
func (c *cluster) idle() (depths string, idle bool) {
	st, err := c.nodes[0].status()
	if err != nil || st.QueueCounts == nil {
		return fmt.Sprint(err), false
	}
	return fmt.Sprintf("%+v", *st.QueueCounts), st.Waiting+st.Postponed+st.Unsent+st.Unknown == 0
}

// seeded is the seed that DRAGOMAN_SEED asks for, or another each time.
func seeded(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64N(1_000_000)
	if s := os.Getenv("DRAGOMAN_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("DRAGOMAN_SEED=%d", seed)
	return seed
}

// networks are those of the cluster.
var networks = []string{"telegram", "irc", "whatsapp"}

// TestCluster has three nodes work while everything that can fail does: once
// each, or for as long as DRAGOMAN_CLUSTER asks.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no cluster")
	}
	t.Parallel()
	long, _ := time.ParseDuration(os.Getenv("DRAGOMAN_CLUSTER"))
	c := newCluster(t, 3, seeded(t), networks...)
	c.long = long > 0
	c.start()
	ctx, stop := context.WithCancel(t.Context())
	wait := c.converse(ctx, 300*time.Millisecond)
	watched := make(chan struct{})
	go func() { defer close(watched); c.watch(ctx) }()
	began := time.Now()
	for round := 0; round == 0 || time.Since(began) < long; round++ {
		for _, i := range c.rand.Perm(len(troubles)) {
			if round > 0 && time.Since(began) >= long {
				break
			}
			c.trouble(troubles[i])
		}
	}
	stop()
	wait()
	<-watched
	c.settle()
	c.judge(time.Since(began))
}

// frozen is when nodes did not run, with the time after it in which their connections may
// still have what was theirs.
func (c *cluster) frozen() (all []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults {
		if f.name == "freeze" {
			all = append(all, span{f.from, f.to.Add(lease)})
		}
	}
	return all
}

// freeze stops a node for a while.
func (n *node) freeze(d time.Duration) {
	n.signal(syscall.SIGSTOP, rest)
	time.Sleep(d)
	n.signal(syscall.SIGCONT, rest)
}
