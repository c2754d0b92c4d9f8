//go:build !nowhatsapp

package bench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
	"dragoman/internal/gateway"
	"dragoman/internal/metrics"
	"dragoman/internal/people"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"

	"go.mau.fi/whatsmeow/store/sqlstore"
	driver "modernc.org/sqlite"
)

// burstSize is how many messages come at once.
const burstSize = 300

// arrivals is WhatsApp with Ann, the adapter, the gateway and the default
// store on a disk, and a model that is silent for longer than any burst.
type arrivals struct {
	tb       testing.TB
	server   *wasim.Server
	ann      *wasim.Contact
	store    *engine.Store
	accepted chan struct{} // one token for each message that the store has
	wrong    atomic.Int64  // those that it refused, or had
}

// counting hears of arrivals; all else it counts as ever.
type counting struct {
	*metrics.Set
	a *arrivals
}

func (c counting) Accepted(_, outcome string) {
	if outcome != "queued" {
		c.a.wrong.Add(1)
	}
	c.a.accepted <- struct{}{}
}

// silent answers nobody while a burst lasts.
type silent struct{ gateway.Agent }

func (silent) Run(ctx context.Context, _ agent.Turn) (agent.Result, error) {
	<-ctx.Done()
	return agent.Result{}, ctx.Err()
}

func newArrivals(tb testing.TB, dir string) *arrivals {
	tb.Helper()
	a := &arrivals{tb: tb, server: wasim.Start(tb, wasim.Options{}), accepted: make(chan struct{}, burstSize)}
	wasim.TrustRoot(wasim.RootKey())
	a.ann = a.server.Contact("+15550000002", "Ann")
	device := filepath.Join(dir, "whatsapp.device.db")
	container, err := sqlstore.New(tb.Context(), "sqlite", "file:"+device+"?_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)", nil)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = a.server.PairedDevice(tb.Context(), container)
	if closed := container.Close(); err != nil || closed != nil {
		tb.Fatal(err, closed)
	}
	if a.store, err = sqlite.Open(tb.Context(), filepath.Join(dir, "dragoman.db"), sqlite.Options{}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.store.Close(); err != nil {
			tb.Error(err)
		}
	})
	ch, err := whatsapp.New("whatsapp", whatsapp.Options{Device: device, HTTP: a.server.HTTPClient()})
	if err != nil {
		tb.Fatal(err)
	}
	ag, err := agent.New(agenttest.Script(), nil, agent.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	g, err := gateway.New(storeOf(a.store), silent{ag}, []gateway.Binding{{Channel: ch, Policy: people.Policy{Allow: []string{a.ann.Number()}}}}, gateway.Options{
		Limits: gateway.Limits{RatePerMinute: -1, MaxWaiting: 1 << 20, DrainLimit: time.Millisecond}, Observer: counting{metrics.New("bench", ""), a},
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(tb.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			tb.Error(err)
		}
	})
	a.say(1) // so that there is a session, and a turn that waits for its model
	return a
}

// say has Ann write n messages at once and returns when the last of them is
// durable, and how long that took, and how long until WhatsApp was told so.
func (a *arrivals) say(n int) (durable, told time.Duration) {
	a.tb.Helper()
	ctx, cancel := context.WithTimeout(a.tb.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	for i := range n {
		a.ann.Say(fmt.Sprint("message ", i))
	}
	for range n {
		select {
		case <-a.accepted:
		case <-ctx.Done():
			a.tb.Fatal("not all messages were accepted")
		}
	}
	durable = time.Since(began)
	if err := a.server.WaitDrained(ctx); err != nil {
		a.tb.Fatal("not all messages were acknowledged:", err)
	}
	return durable, time.Since(began)
}

// BenchmarkBurst300 is how long it takes until 300 messages that one person
// sends at once over WhatsApp are in the store on the disk. The time includes
// the phone's side, which encrypts them in this process.
func BenchmarkBurst300(b *testing.B) {
	a := newArrivals(b, b.TempDir())
	var durable, told []time.Duration
	for b.Loop() {
		d, t := a.say(burstSize)
		durable, told = append(durable, d), append(told, t)
	}
	slices.Sort(durable)
	slices.Sort(told)
	b.ReportMetric(float64(durable[0].Microseconds())/1e3, "best-ms/300")
	b.ReportMetric(float64(percentile(durable, 50).Microseconds())/1e3, "p50-ms/300")
	b.ReportMetric(float64(durable[len(durable)-1].Microseconds())/1e3, "worst-ms/300")
	b.ReportMetric(float64(percentile(told, 50).Microseconds())/1e3, "p50-told-ms/300")
}

// TestBurst counts what a burst costs, instead of timing it: each message is
// taken once, over one connection, for so many commits in the two databases.
func TestBurst(t *testing.T) {
	var commits [2]atomic.Int64 // of the device's database, of the store's
	driver.RegisterConnectionHook(func(conn driver.ExecQuerierContext, dsn string) error {
		n := slices.IndexFunc([]string{"whatsapp.device.db", "dragoman.db"}, func(name string) bool { return strings.Contains(dsn, name) })
		if c, ok := conn.(driver.HookRegisterer); ok && n >= 0 && strings.Contains(dsn, "TestBurst") {
			c.RegisterCommitHook(func() int32 { commits[n].Add(1); return 0 })
		}
		return nil
	})
	a := newArrivals(t, t.TempDir())
	device, store := commits[0].Load(), commits[1].Load()
	if device == 0 || store == 0 {
		t.Fatal("commits are not counted")
	}
	a.say(burstSize)
	device, store = commits[0].Load()-device, commits[1].Load()-store
	t.Logf("%d commits for the device, %d for the store", device, store)
	// One for each message, its plaintext and the keys that it used up, and a
	// few for the connection, which removes the last plaintext.
	if most := int64(burstSize + burstSize/20); device < burstSize || device > most {
		t.Errorf("the device's database had %d commits for %d messages, want at most %d", device, burstSize, most)
	}
	if most := int64(burstSize + burstSize/20); store < burstSize || store > most {
		t.Errorf("the store had %d commits for %d messages one after the other, want at most %d", store, burstSize, most)
	}
	if a.wrong.Load() != 0 || a.server.Logins() != 1 || a.server.Count("receipt:retry") != 0 {
		t.Errorf("%d messages not queued, %d logins, %d asked for again", a.wrong.Load(), a.server.Logins(), a.server.Count("receipt:retry"))
	}
}

// TestBenchBurst writes the numbers into the document.
func TestBenchBurst(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("measures for a while; run it with: make bench-burst")
	}
	a := newArrivals(t, t.TempDir())
	cpu, own := machineCPU()-ownCPU(), ownCPU()
	var durable, told []time.Duration
	const bursts = 30
	began := time.Now()
	for range bursts {
		d, w := a.say(burstSize)
		durable, told = append(durable, d), append(told, w)
	}
	others := float64(machineCPU()-ownCPU()-cpu) / float64(time.Since(began))
	own = (ownCPU() - own) / bursts
	slices.Sort(durable)
	slices.Sort(told)
	row := func(all []time.Duration) string {
		return fmt.Sprintf("best %s, median %s, worst %s", ms(all[0]), ms(percentile(all, 50)), ms(all[len(all)-1]))
	}
	text := fmt.Sprintf("| %d messages at once, %d times | goal | measured |\n|---|---|---|\n"+
		"| until the last of them is in the store on the disk | < 1 s | %s |\n| until WhatsApp was told so of the last | - | **%s** |\n\n"+
		"- The machine: %d cores, %s, %s/%s; writing and fsyncing 4 KiB takes %s (median). One burst takes %s of CPU time, the phone's included, and waits for %d commits, two for each message. Other programs used %.2f cores meanwhile.",
		burstSize, bursts, measured("< 1 s", row(durable)), row(told),
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, ms(fsync(t)), ms(own), 2*burstSize, max(others, 0))
	t.Log(text)
	publish(t, "burst", "make bench-burst", text)
}
