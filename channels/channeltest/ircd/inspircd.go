package ircd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// inspircdConfig wants the port, the directory for the process id and the log,
// and what else there is to load.
const inspircdConfig = `<config format="xml">
<server name="irc.test.local" description="test" network="Test" id="001">
<admin name="a" nick="a" email="a@test.local">
<bind address="127.0.0.1" port="%d" type="clients">
<connect name="main" allow="*" localmax="1000" globalmax="1000" timeout="60" pingfreq="60" commandrate="100000" fakelag="off" resolvehostnames="no" useident="no" modes="">
<options prefixquit="" defaultmodes="o">
<security userstats="m">
<performance softlimit="1000" nouserdns="yes">
<pid file="%[2]s/inspircd.pid">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default" target="%[2]s/inspircd.log">
<module name="blockcolor">
<module name="redirect">
<module name="botmode">
<module name="cap">
<module name="ircv3">
<module name="ircv3_ctctags">
<module name="ircv3_servertime">
<module name="ircv3_echomessage">
%s`

// linkConfig lets services in; it wants their port.
const linkConfig = `<bind address="127.0.0.1" port="%d" type="servers">
<link name="services.test.local" ipaddr="127.0.0.1" port="1" allowmask="127.0.0.1" sendpass="linkpw" recvpass="linkpw">
<uline server="services.test.local" silent="yes">
<sasl target="services.test.local">
<module name="services_account">
<module name="sasl">
<module name="hidechans">
<module name="monitor">
<module name="spanningtree">
`

// anopeConfig wants the port of the link and the directory for the process id.
const anopeConfig = `uplink { host = "127.0.0.1"; port = %d; password = "linkpw"; }
serverinfo { name = "services.test.local"; description = "services"; pid = "%s/anope.pid"; motd = "none"; }
module { name = "inspircd3"; }
networkinfo { networkname = "Test"; nicklen = 31; userlen = 10; hostlen = 64; chanlen = 32; modelistsize = 100; vhost_chars = "a"; }
options { casemap = "rfc1459"; seed = 1; readtimeout = 5s; warningtimeout = 4h; retrywait = 1s; timeoutcheck = 1s; updatetimeout = 5m; expiretimeout = 30m; }
log { target = "services.log"; logage = 1; admin = "*"; other = "*"; servers = "*"; users = "*"; }
service { nick = "NickServ"; user = "services"; host = "services.test.local"; gecos = "Nicknames"; }
module { name = "nickserv"; client = "NickServ"; defaults = "ns_secure"; regdelay = 0s; passlen = 32; }
module { name = "ns_register"; registration = "none"; }
command { service = "NickServ"; name = "REGISTER"; command = "nickserv/register"; }
module { name = "ns_identify"; }
command { service = "NickServ"; name = "IDENTIFY"; command = "nickserv/identify"; }
module { name = "enc_sha256"; }
module { name = "db_flatfile"; database = "anope.db"; }
module { name = "m_sasl"; }
`

// StartInspircd runs the real InspIRCd on a free port of 127.0.0.1 until the
// test ends, for what ngircd has not: the modes +c, +L and +B, and message
// tags. It returns host:port. Without the program the test is skipped, or
// fails in CI.
func StartInspircd(t *testing.T) string {
	t.Helper()
	return startInspircd(t, nobodysDir(t), "")
}

// StartServices is [StartInspircd] with the services of Anope, which know
// accounts: "REGISTER password address" and "IDENTIFY account password" to
// NickServ, SASL PLAIN, and +R for rooms that only accounts enter. The modules
// of InspIRCd that are named are loaded too.
func StartServices(t *testing.T, modules ...string) string {
	t.Helper()
	program := testkit.Need(t, "anope")
	dir := nobodysDir(t)
	port := testkit.FreePort(t)
	extra := fmt.Sprintf(linkConfig, port)
	for _, m := range modules {
		extra += fmt.Sprintf("<module name=%q>\n", m)
	}
	addr := startInspircd(t, dir, extra)
	if err := os.WriteFile(filepath.Join(dir, "services.conf"), fmt.Appendf(nil, anopeConfig, port, dir), 0o644); err != nil {
		t.Fatal(err)
	}
	asNobody(t, program, "--nofork", "--modulesdir=/usr/lib/anope", "--confdir="+dir, "--dbdir="+dir, "--logdir="+dir)
	probe := Join(t, addr, "probe")
	defer probe.Close()
	probe.Raw("MONITOR + NickServ")
	probe.WaitLine("the services to be linked", func(l string) bool { return strings.Contains(l, " 730 ") })
	return addr
}

// startInspircd keeps its files in dir.
func startInspircd(t *testing.T, dir, extra string) string {
	t.Helper()
	program, port := testkit.Need(t, "inspircd"), testkit.FreePort(t)
	conf := filepath.Join(dir, "inspircd.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, inspircdConfig, port, dir, extra), 0o644); err != nil {
		t.Fatal(err)
	}
	asNobody(t, program, "--nofork", "--config="+conf)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	testkit.Eventually(t, "inspircd to listen", func() bool { return listens(addr) })
	return addr
}

// nobodysDir is a directory that the user nobody may write to.
func nobodysDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ircd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asNobody runs a server until the test ends: as the user nobody if we are
// root, since servers refuse to be that.
func asNobody(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := command(t, program, args...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("ircd: start %s: %v", program, err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
}

func command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() == 0 {
		args = append([]string{"--reuid=nobody", "--regid=nogroup", "--clear-groups", program}, args...)
		program = testkit.Need(t, "setpriv")
	}
	return exec.Command(program, args...)
}
