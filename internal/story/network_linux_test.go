package story_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"dragoman/internal/testkit"
)

// web is an address that web_fetch takes for one of the public internet. It exists in the
// network of [inOwnNetwork] alone.
const web = "11.22.33.44"

// inOwnNetwork lets the test go on in a network of its own that has nothing but this machine,
// in which there is [web]: elsewhere it runs the same test once more there, and says false.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	if l, err := net.Listen("tcp", web+":0"); err == nil {
		l.Close()
		return true
	}
	testkit.Sources(t)
	if os.Geteuid() != 0 {
		t.Skip("only root may make a network")
	}
	testkit.Need(t, "ip")
	const begin = `ip link set lo up && ip address add ` + web + `/32 dev lo && echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start && exec "$@"`
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), "/bin/sh", "-c", begin, "sh", self, "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), builtBinary+"="+binary)
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := again.CombinedOutput()
	t.Logf("in a network of its own:\n%s", out)
	if err != nil {
		t.Fail()
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip("skipped there")
	}
	return false
}
