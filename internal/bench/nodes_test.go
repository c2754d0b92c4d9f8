package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
)

// TestBenchNodes measures one, two and three nodes on one PostgreSQL, which has the
// same machine.
func TestBenchNodes(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("measures for two minutes; run it with: make bench-nodes")
	}
	bin := build(t)
	var b strings.Builder
	fmt.Fprintf(&b, "| 200 chats | messages a second | answer p50, p99 | at 50 a second: p50, p99 | CPU a message: nodes, PostgreSQL | cores: nodes, PostgreSQL, people and model, others |\n|---|---|---|---|---|---|\n")
	for nodes := 1; nodes <= 3; nodes++ {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) { fmt.Fprintln(&b, measureNodes(t, bin, nodes)) })
	}
	t.Logf("\n%s", b.String())
	if path := os.Getenv("DRAGOMAN_REPORT"); path != "" && !t.Failed() {
		if err := writeSection(path, "nodes", "make bench-nodes", b.String()); err != nil {
			t.Error(err)
		}
	}
}

// measureNodes is a line of the table.
func measureNodes(t *testing.T, bin string, nodes int) string {
	t.Helper()
	pg := pgtest.New(t, pgtest.Options{Settings: []string{"fsync=on", "full_page_writes=on", "shared_buffers=256MB"}})
	h := newHouse(t, bin, plan{store: fmt.Sprintf("postgres, url: %q", pg.URL("postgres"))})
	all := []*daemon{h.start()}
	for i := 1; i < nodes; i++ {
		all = append(all, h.join(i))
	}
	defer func() {
		for _, d := range all {
			d.stop()
		}
	}()
	h.steady(200, 50, 5*time.Second)
	h.steady(200, 50, 10*time.Second)
	light := h.people.times()
	var served []time.Duration // by PostgreSQL, before and after
	busy := h.saturate(func() (sum time.Duration) {
		for _, d := range all {
			sum += d.used()
		}
		served = append(served, cpuOf(t, pg.PID()))
		return sum
	}, 200, 3*time.Second, 15*time.Second)
	if busy.answers == 0 {
		t.Fatal("no answers")
	}
	pgCPU := served[1] - served[0]
	cores := func(d time.Duration) float64 { return d.Seconds() / busy.window.Seconds() }
	each := func(d time.Duration) time.Duration {
		return (d / time.Duration(busy.answers)).Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("| %d nodes | %.0f | %s, %s | %s, %s | %s, %s | %.2f, %.2f, %.2f, %.2f |", nodes, float64(busy.answers)/busy.window.Seconds(),
		ms(percentile(busy.took, 50)), ms(percentile(busy.took, 99)), ms(percentile(light, 50)), ms(percentile(light, 99)),
		each(busy.daemon), each(pgCPU), cores(busy.daemon), cores(pgCPU), cores(busy.own), cores(busy.others-pgCPU))
}

// join starts another node, in a state directory of its own.
func (h *house) join(i int) *daemon {
	h.t.Helper()
	text, err := os.ReadFile(h.config)
	if err != nil {
		h.t.Fatal(err)
	}
	dir := filepath.Join(h.t.TempDir(), fmt.Sprint("node", i))
	config := filepath.Join(filepath.Dir(h.config), fmt.Sprintf("node%d.yaml", i))
	_, rest, _ := strings.Cut(string(text), "store:")
	if err := os.WriteFile(config, []byte("state_dir: "+dir+"\nstore:"+rest), 0o600); err != nil {
		h.t.Fatal(err)
	}
	d := &daemon{h: h, cmd: exec.Command(h.bin, "run", "--config", config)}
	d.cmd.Stdout, d.cmd.Stderr = h.log, h.log
	if err := d.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(d.stop)
	testkit.Eventually(h.t, "the node", func() bool {
		admin := api.Dial(filepath.Join(dir, "dragoman.sock"))
		defer admin.Close()
		_, err := api.ReadStatus.Call(h.t.Context(), admin, api.None{})
		return err == nil
	})
	return d
}

// cpuOf is the CPU time of a process and of its children that live.
func cpuOf(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range append(strings.Fields(string(children)), fmt.Sprint(pid)) {
		b, err := os.ReadFile("/proc/" + id + "/stat")
		if err != nil {
			continue // it has ended
		}
		used, err := parseStat(b)
		if err != nil {
			t.Fatal(err)
		}
		sum += used
	}
	return sum
}
