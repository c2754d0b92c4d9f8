package pgtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"dragoman/internal/testkit"
)

// Pooler begins a PgBouncer in front of the database at to, with the configuration
// of Debian's package but for settings, and returns the url that leads through it.
func Pooler(t testing.TB, to string, settings ...string) string {
	t.Helper()
	program := testkit.Need(t, "pgbouncer")
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	port := testkit.FreePort(t)
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
		"auth_type = trust\nauth_file = users\n", target.Hostname(), target.Port(), port)
	for _, setting := range settings {
		text += setting + "\n"
	}
	p := &process{}
	p.dir, err = os.MkdirTemp("", "pgbouncer")
	users := fmt.Sprintf("%q \"\"\n", target.User.Username())
	for name, text := range map[string]string{"ini": text, "users": users} {
		path := filepath.Join(p.dir, name)
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600), own(path))
	}
	if err = errors.Join(err, own(p.dir)); err != nil {
		t.Fatal(err)
	}
	target.Host = fmt.Sprintf("127.0.0.1:%d", port)
	err = p.background(t, []string{program, "ini"}, func() bool { return Do(t.Context(), target.String(), "SELECT 1") == nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return target.String()
}
