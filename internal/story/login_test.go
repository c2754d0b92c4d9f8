package story_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dragoman/agent/mcp/mcptest"
)

// loginCommand is a running "dragoman mcp login".
type loginCommand struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	link string
	said string // before it waits
}

// login starts "dragoman mcp login tickets", and reads its link.
func (h *house) login() *loginCommand {
	h.t.Helper()
	c := &loginCommand{cmd: h.command(h.t.Context(), "mcp", "login", "tickets")}
	var err error
	c.in, err = c.cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	c.cmd.Stderr = c.cmd.Stdout
	if err := c.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	for !strings.Contains(c.said, "Waiting until") {
		line, err := c.out.ReadString('\n')
		c.said += line
		if strings.HasPrefix(line, "http") {
			c.link = strings.TrimSpace(line)
		}
		if err != nil {
			h.t.Fatalf("dragoman mcp login says %q and ends: %v", c.said, err)
		}
	}
	return c
}

// ends reads what is said until the end.
func (c *loginCommand) ends(t *testing.T) string {
	t.Helper()
	rest, _ := io.ReadAll(c.out)
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("dragoman mcp login: %v\n%s", err, rest)
	}
	return string(rest)
}

// browse opens an address, and returns what the page says.
func browse(t *testing.T, c *http.Client, address string) (text, next string) {
	t.Helper()
	resp, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page), resp.Header.Get("Location")
}

// A server of tools wants a login: nothing of it works before, dragoman mcp login gets one by a
// browser and by a pasted address, it outlives a restart, is refreshed, ends by a logout, and
// its tokens are nowhere that somebody reads.
func TestToolServerLogin(t *testing.T) {
	free := httptest.NewServer(http.NotFoundHandler())
	redirect := free.URL + "/callback" // nothing listens there then
	free.Close()
	tools := mcptest.Handler("good@old")
	server := &mcptest.Login{Client: "dragoman", Redirect: redirect, Life: 3600, Tools: tools}
	web := httptest.NewServer(server)
	t.Cleanup(func() {
		web.Close()
		_ = tools.(io.Closer).Close() // the daemon's last session
	})
	h := withServers(t, fmt.Sprintf("    tickets: {url: '%s/mcp', effects: {echo: read}, oauth: {client_id: dragoman, redirect: %q}}\n", web.URL, redirect))
	d := h.start()
	const needs = "it needs a login: say dragoman mcp login tickets"
	if got := h.asks(ann, "hello"); !strings.Contains(got, needs) {
		t.Errorf("before the login the bot says %q", got)
	}
	for _, command := range [][]string{{"mcp", "list"}, {"status"}} {
		if got := h.dragoman(command...); !strings.Contains(got, needs) {
			t.Errorf("before the login %s says %q", command, got)
		}
	}
	c := h.login()
	still := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if got, _ := browse(t, still, redirect+"?code=x&state=y"); !strings.Contains(got, "the answer to another login") {
		t.Errorf("somebody else's answer is %q", got)
	}
	if got, _ := browse(t, http.DefaultClient, c.link); got != "Dragoman is logged in. You can close this page.\n" {
		t.Errorf("the browser shows %q", got)
	}
	if got := c.ends(t); !strings.Contains(got, "tickets: logged in. It lists 8 tools") {
		t.Errorf("dragoman mcp login says %q", got)
	}
	h.untilOffered(bob, "tickets__echo")
	works := func() {
		t.Helper()
		if got := h.asks(ann, `!tool tickets__echo {"text":"tulips"}`); !strings.Contains(got, "-> [From the server tickets") {
			t.Fatalf("with a login the bot says %q", got)
		}
	}
	works()
	if got := h.dragoman("mcp", "list"); !strings.Contains(got, "logged in; the token is renewed without you") {
		t.Errorf("with a login mcp list says %q", got)
	}
	d.end(syscall.SIGTERM)
	server.EndTokens()
	d = h.start()
	works()
	if n := server.Refreshes(); n != 1 {
		t.Errorf("refreshed %d times, want once", n)
	}

	taken, err := net.Listen("tcp", strings.TrimSuffix(strings.TrimPrefix(redirect, "http://"), "/callback"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c = h.login()
	if !strings.Contains(c.said, "Another program has the port of 127.0.0.1") {
		t.Errorf("while the port is taken, dragoman mcp login says %q", c.said)
	}
	_, answer := browse(t, still, c.link)
	_, _ = io.WriteString(c.in, "hello\n"+answer+"\n")
	if got := c.ends(t); !strings.Contains(got, "Still waiting.") || !strings.Contains(got, "logged in") {
		t.Errorf("with a pasted address dragoman mcp login says %q", got)
	}
	works()
	if got := h.dragoman("mcp", "logout", "tickets"); !strings.Contains(got, "has dropped the tokens, too") || server.Live() != 0 {
		t.Errorf("dragoman mcp logout says %q, and %d tokens work", got, server.Live())
	}
	if got := h.asks(ann, `!tool tickets__echo {"text":"x"}`); !strings.Contains(got, needs) {
		t.Errorf("after the logout the bot says %q", got)
	}
	d.end(syscall.SIGTERM)
	h.hasNowhere(server.Tokens(), d.out.String())
}

// hasNowhere wants that secrets are in no request to the model, not in the log and in no file
// beside the store.
func (h *house) hasNowhere(secrets []string, log string) {
	h.t.Helper()
	for _, secret := range secrets {
		if strings.Contains(log, secret) {
			h.t.Errorf("the log has the token %.12s", secret)
		}
		for _, r := range h.asked() {
			if strings.Contains(string(r.Body), secret) {
				h.t.Errorf("a request to the model has the token %.12s", secret)
			}
		}
		err := filepath.WalkDir(h.dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.Contains(filepath.Base(path), ".db") {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && strings.Contains(string(text), secret) {
				h.t.Errorf("the file %s has the token %.12s", path, secret)
			}
			return nil // a socket
		})
		if err != nil {
			h.t.Error(err)
		}
	}
}
