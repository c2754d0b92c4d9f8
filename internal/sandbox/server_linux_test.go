//go:build amd64 || arm64

package sandbox_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"dragoman/internal/sandbox"
)

// startServer starts a server of that name which is a shell's line, as nobody.
func startServer(t *testing.T, name, line string, env ...string) *sandbox.Serving {
	t.Helper()
	s, err := sandbox.StartServer(t.Context(), os.Getenv(unitSocket), sandbox.Server{Name: name, Command: []string{"/bin/sh", "-c", line}, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // also closed by tests
	return s
}

// A server of tools has another user and the daemon's connection as its input and output.
func TestServerInTheUnit(t *testing.T) {
	_, _, goesOn := unitFor(t, "sandbox-mcp")
	if !goesOn {
		return
	}
	s := startServer(t, "one", `id -u; echo "$COLOUR $HOME"; env | grep -c SOCKET; cat; echo over; echo oops >&2; pwd >&2`, "COLOUR=blue")
	if _, err := s.Conn.Write([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if err := s.Conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(s.Conn)
	lines := strings.Split(string(out), "\n")
	if len(lines) != 6 || lines[0] != helperUser || !strings.HasPrefix(lines[1], "blue /") || lines[2] != "0" || lines[3] != "{}" || lines[4] != "over" || err != nil {
		t.Errorf("it says %q, %v", out, err)
	}
	if said, err := io.ReadAll(s.Said); !strings.HasPrefix(string(said), "oops\n/") || !strings.HasSuffix(string(said), "/homes/one\n") || err != nil {
		t.Errorf("its standard error is %q, %v", said, err)
	}
	for _, bad := range []struct{ name, command, want string }{
		{"one", "/no/such/program", "no such file"}, {"one", "sh", "an absolute path"}, {"../one", "/bin/sh", "name is one of a folder"}, {"", "/bin/sh", "name is one of a folder"},
	} {
		s, err := sandbox.StartServer(t.Context(), os.Getenv(unitSocket), sandbox.Server{Name: bad.name, Command: []string{bad.command}})
		if err != nil {
			t.Fatal(err)
		}
		if said, err := io.ReadAll(s.Said); !strings.Contains(string(said), bad.want) || err != nil {
			t.Errorf("of %+v the unit says %q, %v", bad, said, err)
		}
		_ = s.Close()
	}
	if _, err := sandbox.StartServer(t.Context(), os.Getenv(unitSocket)+"x", sandbox.Server{}); !errors.Is(err, sandbox.ErrNoUnit) {
		t.Errorf("without a unit: %v", err)
	}
}

// spying is what a server tries on another one, whose process ids and folder it knows. What
// succeeds is printed.
const spying = `
for p in %[1]s; do
	tr '\0' '\n' < /proc/$p/environ | grep KEY && echo environ
	cat /proc/$p/fd/0 /proc/$p/cwd/token && echo files of the process
	kill -0 $p && echo signal
done
cat ../two/token && echo file
ls .. && echo list
ls ../two && echo list
touch ../two/planted && echo planted
mv ../two ../three && echo moved
ln ../two/token mine && echo linked
rm -f ../two/token
`

// Servers have one user, and neither their keys nor their folders reach another server.
func TestServersApart(t *testing.T) {
	_, _, goesOn := unitFor(t, "sandbox-mcp")
	if !goesOn {
		return
	}
	two := startServer(t, "two", `echo secret > token; echo $$ $PPID; cat; cat token`, "KEY=secret")
	pids, err := bufio.NewReader(two.Conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile("/proc/" + strings.Fields(pids)[0] + "/environ"); err == nil {
		t.Errorf("the daemon's user reads its variables: %q", text)
	}
	one := startServer(t, "one", fmt.Sprintf(spying, strings.TrimSpace(pids)))
	if out, err := io.ReadAll(one.Conn); len(out) > 0 || err != nil {
		t.Errorf("it found %q, %v", out, err)
	}
	can := startServer(t, "one", `echo x > mine && mkdir -p d && mv mine d/mine && cat d/mine && head -c 4 /etc/passwd && ls /usr/bin > /dev/null && kill -0 $$ && echo all`)
	if out, err := io.ReadAll(can.Conn); string(out) != "x\nrootall\n" || err != nil {
		said, _ := io.ReadAll(can.Said)
		t.Errorf("what servers need gives %q, %v: %s", out, err, said)
	}
	if err := two.Conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(two.Conn); string(out) != "secret\n" || err != nil {
		t.Errorf("afterwards its file is %q, %v", out, err)
	}
}

// A server that ignores the end of its input is ended, and at once if the daemon has gone.
func TestServerThatStays(t *testing.T) {
	_, _, goesOn := unitFor(t, "sandbox-mcp")
	if !goesOn {
		return
	}
	patient := startServer(t, "one", "trap '' TERM HUP; sleep 76543 & sleep 76544")
	if err := patient.Conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	gone := startServer(t, "two", "sleep 76545")
	if err := gone.Conn.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*sandbox.Serving{gone, patient} {
		if said, err := io.ReadAll(s.Said); len(said) > 0 || err != nil { // ends with the server
			t.Errorf("it says %q, %v", said, err)
		}
	}
}
