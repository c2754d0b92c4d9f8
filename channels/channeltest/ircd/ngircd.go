package ircd

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/internal/testkit"
)

// The operator of every [Ngircd], for tests that need KILL.
const (
	OperName     = "oper"
	OperPassword = "operpw"
)

// NgircdOptions configure a real server. The zero value works.
type NgircdOptions struct {
	Name string // "irc1.test.local"
	// Penalties leaves the flood penalties on, as on a real network.
	Penalties bool
	Password  string
	// Locked is a channel that is made with the key "sesame".
	Locked string
	// Port to listen on; default: a free one.
	Port int
	// Extra is put at the end of the configuration ([Server] blocks).
	Extra string
}

// Ngircd is a running real server.
type Ngircd struct {
	t    *testing.T
	conf string
	port int
	cmd  *exec.Cmd
	exit chan struct{}
}

// StartNgircd runs the real ngircd on a free port of 127.0.0.1 until the test
// ends. Without the program the test is skipped, or fails in CI.
func StartNgircd(t *testing.T, o NgircdOptions) *Ngircd {
	t.Helper()
	program := testkit.Need(t, "ngircd")
	if o.Name == "" {
		o.Name = "irc1.test.local"
	}
	dir, err := os.MkdirTemp("", "ngircd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // nobody must read it
		t.Fatal(err)
	}
	n := &Ngircd{t: t, conf: filepath.Join(dir, "ngircd.conf"), port: o.Port}
	for try := 1; ; try++ {
		if o.Port == 0 {
			n.port = testkit.FreePort(t)
		}
		if err := os.WriteFile(n.conf, []byte(o.text(n.port)), 0o644); err != nil {
			t.Fatal(err)
		}
		err := n.start(program)
		if err == nil {
			t.Cleanup(n.Stop)
			return n
		}
		if try == 3 { // Somebody else may take the free port first, but not each time.
			t.Fatal(err)
		}
	}
}

func (o NgircdOptions) text(port int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Global]\nName = %s\nInfo = test\nListen = 127.0.0.1\nPorts = %d\nMotdPhrase = \"test\"\n", o.Name, port)
	if o.Password != "" {
		fmt.Fprintf(&b, "Password = %s\n", o.Password)
	}
	b.WriteString("[Limits]\nMaxConnectionsIP = 0\nMaxNickLength = 16\nPingTimeout = 5\nPongTimeout = 5\nConnectRetry = 2\nMaxJoins = 50\n")
	if !o.Penalties {
		b.WriteString("MaxPenaltyTime = 0\n")
	}
	b.WriteString("[Options]\nDNS = no\nIdent = no\nPAM = no\nConnectIPv6 = no\nOperCanUseMode = yes\n")
	fmt.Fprintf(&b, "[Operator]\nName = %s\nPassword = %s\n", OperName, OperPassword)
	if o.Locked != "" {
		fmt.Fprintf(&b, "[Channel]\nName = %s\nModes = +ntk sesame\n", o.Locked)
	}
	b.WriteString(o.Extra)
	return b.String()
}

func listens(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// start runs the server as nobody, since it refuses to stay root, and waits
// until it listens.
func (n *Ngircd) start(program string) error {
	n.t.Helper()
	n.cmd = command(n.t, program, "-n", "-f", n.conf)
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("ircd: start ngircd: %w", err)
	}
	exit := make(chan struct{})
	n.exit = exit
	cmd := n.cmd
	go func() { cmd.Wait(); close(exit) }()
	for deadline := time.Now().Add(patience); ; {
		if listens(n.Addr()) {
			return nil
		}
		select {
		case <-n.exit:
			return fmt.Errorf("ircd: ngircd ended at once: %v", cmd.ProcessState)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			n.Stop()
			return fmt.Errorf("ircd: ngircd does not listen at %s", n.Addr())
		}
	}
}

// Addr is host:port.
func (n *Ngircd) Addr() string { return fmt.Sprintf("127.0.0.1:%d", n.port) }

// Port is the port alone.
func (n *Ngircd) Port() int { return n.port }

// Stop kills the server without a word to anybody, as a crash does.
func (n *Ngircd) Stop() {
	if n.cmd != nil {
		n.cmd.Process.Kill()
		<-n.exit
		n.cmd = nil
	}
}

// Restart starts it again on the same port after [Ngircd.Stop].
func (n *Ngircd) Restart() {
	n.t.Helper()
	n.Stop()
	if err := n.start(testkit.Need(n.t, "ngircd")); err != nil {
		n.t.Fatal(err)
	}
}

// Freeze stops the server's process where it stands; connections stay open.
func (n *Ngircd) Freeze() { n.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets it go on.
func (n *Ngircd) Thaw() { n.cmd.Process.Signal(syscall.SIGCONT) }
