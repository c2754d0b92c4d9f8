package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/wasim"
	"dragoman/internal/api"

	"go.mau.fi/whatsmeow/store/sqlstore"
)

// settled is how long a daemon is left alone before its memory is read.
const settled = 3 * time.Second

// largestBinary is how large the program may be for linux/amd64: what it was when this was set,
// and one percent.
const largestBinary = 48_200_000

// TestBinarySize fails if something large came in, as a library or a table of the
// compiler's.
func TestBinarySize(t *testing.T) {
	if platform := runtime.GOOS + "/" + runtime.GOARCH; testing.Short() || platform != "linux/amd64" {
		t.Skip("builds the program, and compares its size for linux/amd64")
	}
	info, err := os.Stat(build(t, "-ldflags=-s -w"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > largestBinary {
		t.Errorf("the program has %d bytes, want at most %d: docs/decisions/0017-dependencies.md says how to find what is large", info.Size(), largestBinary)
	}
}

// TestBenchSizes builds the program with and without WhatsApp and PostgreSQL and
// reads how large it is, and how much memory it takes when nobody writes.
func TestBenchSizes(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("builds nine binaries; run it with: make bench-sizes")
	}
	type kind struct {
		name, licence string
		tags          []string
	}
	var b strings.Builder
	fmt.Fprintln(&b, "| build | as `make build` makes it | with symbols | licence of the whole |\n|---|---|---|---|")
	const gpl, apache = "GPL-3.0", "Apache-2.0"
	tagged := func(licence, tags string) kind { return kind{"`-tags " + tags + "`", licence, []string{"-tags", tags}} }
	with, simulating := kind{"default", gpl, nil}, tagged(gpl, "crashpoints")
	noPostgres := tagged(gpl, "nopostgres")
	noWhatsApp := tagged(apache, "nowhatsapp")
	neither := tagged(apache, "nowhatsapp,nopostgres")
	const whatsapp = "whatsapp: {type: whatsapp}"
	built := map[string]string{}
	for _, k := range []kind{with, noPostgres, noWhatsApp, neither} {
		built[k.name] = build(t, append([]string{"-ldflags=-s -w"}, k.tags...)...)
		if got := linksGPL(t, built[k.name]); got != (k.licence == gpl) {
			t.Errorf("the %s build holds libsignal: %v", k.name, got)
		}
		fmt.Fprintf(&b, "| %s | **%s** | %s | %s |\n", k.name, binarySize(t, built[k.name]), binarySize(t, build(t, append([]string{"-ldflags="}, k.tags...)...)), k.licence)
	}
	built[simulating.name] = build(t, simulating.tags...)
	fmt.Fprintln(&b, "\n| idle daemon | resident | of that its own, written pages |\n|---|---|---|")
	for _, d := range []struct {
		name   string
		build  kind
		config string
		linked bool
	}{
		{"WhatsApp linked and connected, to the simulator (a test build)", simulating, whatsapp, true},
		{"default, WhatsApp configured and not linked", with, whatsapp, false},
		{"default, without a WhatsApp channel", with, "", false},
		{noPostgres.name, noPostgres, "", false},
		{noWhatsApp.name, noWhatsApp, "", false},
		{neither.name, neither, "", false},
	} {
		rss, own := idle(t, built[d.build.name], d.config, d.linked)
		fmt.Fprintf(&b, "| %s | %s | **%s** |\n", d.name, megabytes(rss), megabytes(own))
	}
	fmt.Fprintf(&b, "\nmedian of five starts each, %s after they were ready; %s, %s/%s.\n", settled, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	t.Log(b.String())
	publish(t, "sizes", "make bench-sizes", b.String())
}

// linksGPL reports whether a binary was built with libsignal.
func linksGPL(t *testing.T, bin string) bool {
	t.Helper()
	out, err := exec.Command("go", "version", "-m", bin).CombinedOutput()
	if err != nil {
		t.Fatalf("go version -m: %v\n%s", err, out)
	}
	return strings.Contains(string(out), "go.mau.fi/libsignal")
}

func binarySize(t *testing.T, bin string) string {
	t.Helper()
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	return megabytes(info.Size())
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// linked makes a state directory with a device that a simulated WhatsApp knows,
// and returns what tells the program where that is.
func linked(t *testing.T, state string) (env string) {
	t.Helper()
	s := wasim.Start(t, wasim.Options{})
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	container, err := sqlstore.New(t.Context(), "sqlite", "file:"+filepath.Join(state, "whatsapp.device.db")+"?_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.PairedDevice(t.Context(), container)
	if closed := container.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return fmt.Sprintf("DRAGOMAN_WASIM=%s,%x", s.Addr(), wasim.RootKey())
}

// idle is the memory of a daemon that has nothing to do, the median of five.
func idle(t *testing.T, bin, channel string, link bool) (rss, own int64) {
	t.Helper()
	var all, shares []int64
	for range 5 {
		dir := t.TempDir()
		config := filepath.Join(dir, "dragoman.yaml")
		text := fmt.Sprintf("state_dir: %s\nhttp: {listen: \"127.0.0.1:0\"}\nmodel: {type: demo}\n", filepath.Join(dir, "state"))
		if channel != "" {
			text += "channels:\n  " + channel + "\n"
		}
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env := []string{"HOME=" + dir, "PATH=/usr/bin:/bin"}
		if link {
			env = append(env, linked(t, filepath.Join(dir, "state")))
		}
		r, p := memoryOf(t, bin, config, filepath.Join(dir, "state", "dragoman.sock"), env, link)
		all, shares = append(all, r), append(shares, p)
	}
	slices.Sort(all)
	slices.Sort(shares)
	return all[2], shares[2]
}

// memoryOf runs a daemon until it is ready, and connected to WhatsApp if that is
// to be so, and a little longer.
func memoryOf(t *testing.T, bin, config, socket string, env []string, connected bool) (rss, own int64) {
	t.Helper()
	cmd := exec.Command(bin, "run", "--config", config)
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
	}()
	c := api.Dial(socket)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s, err := api.ReadStatus.Call(ctx, c, api.None{}); err == nil && s.Running && (!connected || s.Channels["whatsapp"].State == channels.StateConnected) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the daemon did not get ready")
		}
	}
	<-time.After(settled)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return parseStatus(b, "Rss"), parseStatus(b, "Anonymous")
}
