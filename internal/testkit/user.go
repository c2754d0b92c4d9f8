package testkit

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user without rights.
const nobody = 65534

// AsUser lets a test go on as an ordinary user: where it runs as root, it runs the same
// test once more as nobody, in the folder dir, with env beside PATH and TMPDIR, and says
// false.
func AsUser(t *testing.T, dir string, env ...string) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	again := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	again.Dir = dir
	again.Env = append([]string{"PATH=/usr/bin:/bin", "TMPDIR=/tmp"}, env...)
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := again.CombinedOutput()
	t.Logf("as an ordinary user:\n%s", out)
	if err != nil {
		t.Fail()
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip("skipped there")
	}
	return false
}
