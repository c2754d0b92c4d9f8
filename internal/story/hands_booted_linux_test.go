package story_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/agent/mcp/mcptest"
	"dragoman/internal/testkit"
)

const (
	// cannotBoot is the exit code of boot.sh where this machine cannot boot anything.
	cannotBoot = 77
	// mostBooted is how long all of it may take.
	mostBooted = 3 * time.Minute
)

// staged is a folder with what make install installs, the configuration, and the units of the
// test.
func staged(t *testing.T) string {
	t.Helper()
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	from, to := t.TempDir(), t.TempDir()
	for link, target := range map[string]string{"Makefile": repo + "/Makefile", "systemd": repo + "/systemd", "bin/dragoman": binary} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(from, link)), 0o755), os.Symlink(target, filepath.Join(from, link))); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "make", "-C", from, "install", "DESTDIR="+to)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("make install: %v\n%s", err, out)
	}
	units := filepath.Join(to, "etc/systemd/system")
	if err := os.MkdirAll(units, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"booted.target", "booted.service", "escapes.service"} {
		copyTo(t, filepath.Join("testdata/booted", name), filepath.Join(units, name), 0o644)
	}
	server := mcptest.Command("good")
	text, err := os.ReadFile("testdata/booted/config.yaml")
	config := strings.Replace(string(text), "SERVER", strings.Join(server[1:], " "), 1)
	if err := errors.Join(err, os.WriteFile(filepath.Join(to, "etc/dragoman/config.yaml"), []byte(config), 0o640)); err != nil {
		t.Fatal(err)
	}
	return to
}

func copyTo(t *testing.T, from, to string, mode fs.FileMode) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, mode)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// booted boots systemd with what is installed, and returns the folder in which inside.sh left
// what it saw.
func booted(t *testing.T) string {
	t.Helper()
	host := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyTo(t, self, filepath.Join(host, "story.test"), 0o755)
	copyTo(t, "testdata/booted/inside.sh", filepath.Join(host, "inside.sh"), 0o755)
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", filepath.Join(host, "sandbox.test"), "dragoman/internal/sandbox")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the escapes: %v\n%s", err, out)
	}
	for dir := host; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // users of its own read it
			t.Fatal(err)
		}
	}
	files := staged(t)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), mostBooted)
	defer cancel()
	boot := exec.CommandContext(ctx, "sh", "testdata/booted/boot.sh", files, host)
	boot.WaitDelay = time.Second
	out, err := boot.CombinedOutput()
	if boot.ProcessState != nil && boot.ProcessState.ExitCode() == cannotBoot {
		t.Skipf("NOT SHOWN: the units under a booted systemd, for this machine cannot boot one: %s", out)
	}
	if _, left := os.Stat(filepath.Join(host, "ended")); left != nil {
		t.Fatalf("systemd ended before the test (%v):\n%s\n%s", err, out, seen(t, host, "escapes"))
	}
	t.Logf("systemd was up for %s", time.Since(began).Round(time.Second))
	return host
}

// seen is what inside.sh left under a name; "" if that is nothing.
func seen(t *testing.T, host, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(host, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

var triedEscapes = regexp.MustCompile(`(\d+) escapes work without the sandbox, none of (\d+) in it`)

// Under a systemd that is really booted, over the programs of this machine, with what make
// install puts there: no escape works in the unit of commands, nothing outlives a command, the
// daemon finds that ground in its own unit, and a server of tools runs in a third one.
func TestHandsBooted(t *testing.T) {
	testkit.Need(t, "systemd")
	testkit.Need(t, "python3")
	testkit.Sources(t)
	if os.Geteuid() != 0 {
		if testkit.NeedAll() {
			t.Fatal("only root may boot a systemd in namespaces")
		}
		t.Skip("only root may boot a systemd in namespaces")
	}
	host := booted(t)
	escapes := seen(t, host, "escapes")
	tried := triedEscapes.FindString(escapes)
	if tried == "" || strings.Contains(escapes, "--- FAIL") || strings.Contains(escapes, "--- SKIP") || strings.Count(escapes, "\n--- PASS") != 4 {
		t.Errorf("the escapes from the unit: %s\n%s", escapes, seen(t, host, "escapes.start"))
	}
	t.Log(tried)
	if _, err := os.Stat(filepath.Join(host, "no-limits")); err == nil {
		t.Log("NOT SHOWN, for this machine has no controllers of control groups: that the unit bounds memory and processes together, and ends what is left")
	} else {
		for _, words := range []string{"commands run in a unit of their own, as another user, and no attempt to escape succeeded", "pdftotext reads PDFs in the sandbox"} {
			if status := seen(t, host, "status"); !strings.Contains(status, words) {
				t.Errorf("the daemon does not use the unit: %s\n%s", status, seen(t, host, "daemon.start"))
			}
		}
	}
	if status := seen(t, host, "status"); !strings.Contains(status, "under dragoman-mcp as another user") {
		t.Errorf("the daemon does not start servers in their unit: %s", status)
	}
	if server, saw := seen(t, host, "server"), seen(t, host, "saw"); !strings.Contains(server, "echo works: ") || saw != "dragoman-mcp\n" {
		t.Errorf("a server of tools: %s\nIt is and sees %q", server, saw)
	}
}
