//go:build amd64 || arm64

package sandbox_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/sandbox"
)

const (
	// unitSocket is where the environment of a test that runs again as another user has the
	// socket.
	unitSocket = "DRAGOMAN_SANDBOX_SOCKET"
	// helperID is the user of the helper, and helperUser the same.
	helperID   = 65533
	helperUser = "65533"
	// nobody is the user of the test.
	nobody = 65534
)

// unitFor stands in for the service manager: it starts a helper, as a user of its own and
// without rights, for each connection to a socket that only nobody may connect to. With true
// the test goes on, as nobody, with a unit at that socket and a folder.
func unitFor(t *testing.T, words ...string) (u *sandbox.Unit, work string, goesOn bool) {
	t.Helper()
	if socket := os.Getenv(unitSocket); socket != "" {
		work = sharedFolder(t)
		return sandbox.OpenUnit(socket, filepath.Dir(filepath.Dir(work))), work, true
	}
	setpriv, err := exec.LookPath("setpriv")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("it needs root and setpriv")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for _, dir := range []string{home, filepath.Dir(home), filepath.Dir(self)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(home, "exec.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chown(socket, nobody, nobody), os.Chmod(socket, 0o600)); err != nil {
		t.Fatal(err)
	}
	var helpers sync.WaitGroup
	homes := filepath.Join(home, "homes")
	if err := errors.Join(os.Mkdir(homes, 0o700), os.Chown(homes, helperID, helperID)); err != nil {
		t.Fatal(err)
	}
	helpers.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			helpers.Go(func() { serve(t, setpriv, self, homes, c.(*net.UnixConn), words) })
		}
	})
	defer helpers.Wait()
	defer l.Close()
	asUser(t, unitSocket+"="+socket)
	return nil, "", false
}

// serve runs one helper.
func serve(t *testing.T, setpriv, self, homes string, c *net.UnixConn, words []string) {
	defer c.Close()
	file, err := c.File()
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	c.Close() // the helper has it
	tmp, err := os.MkdirTemp("", "helper-")
	if err == nil {
		err = os.Chmod(tmp, 0o777)
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer os.RemoveAll(tmp)
	args := append([]string{"--reuid", helperUser, "--regid", helperUser, "--clear-groups", "--bounding-set=-all", self}, words...)
	helper := exec.Command(setpriv, args...)
	helper.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + tmp, "STATE_DIRECTORY=" + homes}
	helper.Dir = "/"
	helper.Stdin = file
	out, err := helper.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Logf("a helper ended with %v: %s", err, out)
	}
}

// sharedFolder is a chat's folder in a workspace that others may reach.
func sharedFolder(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Chmod(filepath.Dir(home), 0o711); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(home, "chats", "one")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	return work
}

func TestEscapesInTheUnit(t *testing.T) {
	u, work, goesOn := unitFor(t, "sandbox-exec", sandbox.Unbounded)
	if !goesOn {
		return
	}
	if err := u.SelfTest(t.Context(), filepath.Dir(filepath.Dir(work))); err != nil {
		t.Fatal(err)
	}
	tryEscapes(t, work, u.Exec)
}

// Without limits of its control group the unit is none.
func TestAUnitWithoutLimits(t *testing.T) {
	u, work, goesOn := unitFor(t, "sandbox-exec")
	if !goesOn {
		return
	}
	_, err := u.Exec(t.Context(), sandbox.Command{Line: "true", Dir: work})
	if why, is := errors.AsType[sandbox.Closed](err); !is || !strings.Contains(string(why), "no limit of memory") {
		t.Errorf("the error is %v", err)
	}
}

func TestCommandsInTheUnit(t *testing.T) {
	u, work, goesOn := unitFor(t, "sandbox-exec", sandbox.Unbounded)
	if !goesOn {
		return
	}
	ours := filepath.Join(work, "sub", "ours")
	if err := errors.Join(os.Mkdir(filepath.Dir(ours), 0o700), os.WriteFile(ours, []byte("ours\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, line, want, ended string
		code                    int
	}{
		{"words", "echo out; echo err >&2; exit 7", "out\nerr\n", "", 7},
		{"our files", "cat sub/ours && echo more >> sub/ours && pwd", "ours\n" + work + "\n", "", 0},
		{"its files", "mkdir d && echo theirs > d/f && chmod 600 d/f && chmod 700 d", "", "", 0},
		{"git", "cd d && git init -q . 2>&1 && git status --short", "?? f\n", "", 0},
		{"a temporary file", "echo x > $TMPDIR/x && cat $HOME/x", "x\n", "", 0},
		{"too long", "echo begun; sleep 60", "begun\n", "it took too long", -1},
		{"other chats", "ls ../two", "", "", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "git" {
				if _, err := exec.LookPath("git"); err != nil {
					t.Skip(err)
				}
			}
			limit := 30 * time.Second // a helper starts slowly where much else runs
			if test.ended != "" {
				limit = 4 * time.Second
			}
			got, err := u.Exec(t.Context(), sandbox.Command{Line: test.line, Dir: work, Timeout: limit})
			if test.name == "other chats" {
				got.Output = ""
			}
			if want := (sandbox.Result{Output: test.want, Code: test.code, Ended: test.ended}); got != want || err != nil {
				t.Errorf("%q gives %+v, %v; want %+v", test.line, got, err, want)
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(work, "d", "f")); string(text) != "theirs\n" || err != nil {
		t.Errorf("a file of the helper's user is %q, %v", text, err)
	}
	if info, err := os.Stat(work); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("after the commands the folder is %v, %v", info.Mode(), err)
	}
	left := "(setsid sh -c 'while :; do echo >> alive; sleep 0.05; done' >/dev/null 2>&1 &) ; until [ -s alive ]; do sleep 0.05; done"
	if _, err := u.Exec(t.Context(), sandbox.Command{Line: left, Dir: work}); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(filepath.Join(work, "alive"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	sleep := exec.CommandContext(t.Context(), "sleep", "0.5") // what is being waited for must not happen
	if err := sleep.Run(); err != nil {
		t.Fatal(err)
	}
	if after := size(); after != before {
		t.Errorf("something still writes: %d bytes, then %d", before, after)
	}
}

// While a command of one chat runs, none of another does, and nobody finds its folder.
func TestOneChatAtATimeInTheUnit(t *testing.T) {
	u, work, goesOn := unitFor(t, "sandbox-exec", sandbox.Unbounded)
	if !goesOn {
		return
	}
	other := filepath.Join(filepath.Dir(work), "two")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		once := sync.OnceFunc(func() { close(begun) })
		_, err := u.Exec(t.Context(), sandbox.Command{Line: "echo begun; read x < wait || sleep 5", Dir: work, Printed: func([]byte) { once() }})
		ended <- err
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(err)
	}
	if _, err := u.Exec(t.Context(), sandbox.Command{Line: "true", Dir: other}); err == nil || !strings.Contains(err.Error(), "another chat") {
		t.Errorf("another chat's: %v", err)
	}
	if _, err := u.Read(t.Context(), sh("cat", "")); err == nil || !strings.Contains(err.Error(), "cannot be read now") {
		t.Errorf("a program that reads meanwhile: %v", err)
	}
	if got, err := u.Exec(t.Context(), sandbox.Command{Line: "echo too", Dir: work}); got.Output != "too\n" || err != nil {
		t.Errorf("the same chat's: %+v, %v", got, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got, err := u.Exec(t.Context(), sandbox.Command{Line: "echo now", Dir: other}); got.Output != "now\n" || err != nil {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}
