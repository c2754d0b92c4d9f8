package ircd

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"dragoman/internal/testkit"
)

// inspircdConfig wants the port and the directory for the process id.
const inspircdConfig = `<config format="xml">
<server name="irc.test.local" description="test" network="Test" id="001">
<admin name="a" nick="a" email="a@test.local">
<bind address="127.0.0.1" port="%d" type="clients">
<connect name="main" allow="*" localmax="1000" globalmax="1000" timeout="60" pingfreq="60" commandrate="100000" fakelag="off" resolvehostnames="no" useident="no" modes="">
<options prefixquit="" defaultmodes="o">
<performance softlimit="1000" nouserdns="yes">
<pid file="%s/inspircd.pid">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default" target="%s/inspircd.log">
<module name="blockcolor">
<module name="redirect">
<module name="botmode">
<module name="cap">
<module name="ircv3">
<module name="ircv3_ctctags">
<module name="ircv3_servertime">
<module name="ircv3_echomessage">
`

// StartInspircd runs the real InspIRCd on a free port of 127.0.0.1 until the
// test ends, for what ngircd has not: the modes +c, +L and +B, and message
// tags. It returns host:port. Without the program the test is skipped, or
// fails in CI.
func StartInspircd(t *testing.T) string {
	t.Helper()
	program := testkit.Need(t, "inspircd")
	dir, err := os.MkdirTemp("", "inspircd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil { // nobody writes its log there
		t.Fatal(err)
	}
	port := freePort(t)
	conf := filepath.Join(dir, "inspircd.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, inspircdConfig, port, dir, dir), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{program, "--nofork", "--config=" + conf}
	if os.Getuid() == 0 {
		args = append([]string{testkit.Need(t, "setpriv"), "--reuid=nobody", "--regid=nogroup", "--clear-groups"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("ircd: start inspircd: %v", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	testkit.Eventually(t, "inspircd to listen", func() bool {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return addr
}
