package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"dragoman/internal/app"
	"dragoman/internal/storage"
	"dragoman/internal/testkit"
)

// asNobody makes this test binary try to open the configuration that it names.
const asNobody = "DRAGOMAN_TEST_OPEN"

// A state directory on a file system that is mounted read-only: root's rights
// do not help there.
func TestReadOnlyFileSystem(t *testing.T) {
	p := newPlace(t, "")
	p.opens()
	if err := syscall.Mount("tmpfs", p.state(""), "tmpfs", syscall.MS_RDONLY, "size=64k"); err != nil {
		if testkit.NeedAll() {
			t.Fatalf("cannot mount (run the tests as root): %v", err)
		}
		t.Skipf("this user cannot mount: %v", err)
	}
	said := p.refused()
	if err := syscall.Unmount(p.state(""), 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "cannot be written") || !strings.Contains(said, "the file system is read-only") {
		t.Errorf("Open says %q, want that the file system is read-only", said)
	}
	p.opens()
}

// openPlace is a place in a folder that others may look into, with a state
// directory in which a daemon has been.
func openPlace(t *testing.T) *place {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can run this as somebody else")
	}
	dir, err := os.MkdirTemp("/tmp", "dragoman-app")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &place{t: t, dir: dir, path: dir + "/dragoman.yaml"}
	p.write("")
	p.opens()
	p.chmod(0o755, dir, p.path)
	return p
}

func (p *place) chmod(mode os.FileMode, paths ...string) {
	p.t.Helper()
	for _, path := range paths {
		if err := os.Chmod(path, mode); err != nil {
			p.t.Fatal(err)
		}
	}
}

// byNobody is what the test of this name prints when another user runs it.
func (p *place) byNobody() string {
	p.t.Helper()
	self, err := os.ReadFile("/proc/self/exe") // the test binary's own folder is closed to others
	if err != nil {
		p.t.Fatal(err)
	}
	bin := p.dir + "/app.test"
	if err := os.WriteFile(bin, self, 0o755); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(bin, "-test.run", "^"+p.t.Name()+"$")
	cmd.Dir = p.dir
	cmd.Env = []string{asNobody + "=" + p.dir, "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// A state directory of somebody else.
func TestNoRightToTheFolder(t *testing.T) {
	if path := os.Getenv(asNobody); path != "" {
		p := &place{t: t, dir: path, path: path + "/dragoman.yaml"}
		os.Stdout.WriteString("SAID " + p.refused() + "\n")
		return
	}
	out := openPlace(t).byNobody()
	if !strings.Contains(out, "SAID storage: ") || !strings.Contains(out, "this user may not write there") {
		t.Errorf("Open says %s, want that this user may not write there", out)
	}
}

// Who may not use the state of somebody else is told so, and of which folder,
// whatever it is that is closed.
func TestNoRightToUse(t *testing.T) {
	if path := os.Getenv(asNobody); path != "" {
		p := &place{t: t, dir: path, path: path + "/dragoman.yaml"}
		_, _, err := app.Admin(t.Context(), p.config(), storage.Caller{})
		fmt.Println("SAID", err)
		return
	}
	p := openPlace(t)
	want := "SAID storage: the state directory " + strings.TrimSuffix(p.state(""), "/") + " cannot be written: this user may not write there"
	for _, open := range []func(){
		func() {},
		func() { p.chmod(0o755, p.state("")) },
		func() { p.chmod(0o644, p.state("dragoman.lock")) },
		func() { p.chmod(0o644, p.state("dragoman.db.lock")) },
	} {
		open()
		if out := p.byNobody(); !strings.Contains(out, want) {
			t.Errorf("Admin says\n %s, want\n %s", out, want)
		}
	}
}

// The lock file and the socket of a process that was killed are in nobody's
// way.
func TestLeftByTheDead(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	if err := os.Mkdir(p.state(""), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.state("dragoman.lock"), []byte("dragoman with process id 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(p.state("dragoman.sock"), syscall.S_IFSOCK|0o600, 0); err != nil {
		t.Fatal(err)
	}
	r := p.run()
	if !r.status().Running {
		t.Error("the daemon's socket does not answer")
	}
}
