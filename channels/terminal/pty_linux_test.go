package terminal_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"dragoman/channels/live"
	"dragoman/channels/terminal"
	"dragoman/internal/testkit"

	"github.com/rivo/uniseg"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// tty is a person at a terminal: their keys and their screen.
type tty struct {
	t      *testing.T
	keys   *os.File // the terminal's own end
	in     *os.File // the program's end
	screen vt
	done   chan error
	cancel context.CancelFunc
}

// sit opens a chat in a terminal of that size.
func sit(t *testing.T, g *gateway, columns, rows int, o terminal.ChatOptions) *tty {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &tty{t: t, keys: keys, in: in, screen: vt{columns: columns, rows: rows}, done: make(chan error, 1), cancel: cancel}
	var reader sync.WaitGroup
	reader.Go(p.watch)
	go func() { p.done <- terminal.Chat(ctx, g.client, in, in, o) }()
	t.Cleanup(func() {
		cancel()
		p.left()
		if after, err := term.GetState(int(in.Fd())); err != nil || *after != *before {
			t.Errorf("the terminal was not left as it was found: %v", err)
		}
		_, _ = keys.WriteString("\n") // the read that the chat left takes it
		_ = in.Close()                // then the reader gets an error
		reader.Wait()
		_ = keys.Close()
	})
	return p
}

// watch feeds the program's output to the screen.
func (p *tty) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := p.keys.Read(buf)
		p.screen.write(buf[:n])
		if err != nil {
			return
		}
	}
}

func (p *tty) key(s string) {
	p.t.Helper()
	if _, err := p.keys.WriteString(s); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits until the screen holds all of want, in this order.
func (p *tty) sees(want ...string) string {
	p.t.Helper()
	return p.until(fmt.Sprintf("%q", want), func(shown string) bool {
		for _, w := range want {
			_, after, found := strings.Cut(shown, w)
			if !found {
				return false
			}
			shown = after
		}
		return true
	})
}

func (p *tty) until(what string, done func(string) bool) string {
	p.t.Helper()
	var shown string
	if !testkit.Poll(time.Minute, func() bool { shown = p.screen.String(); return done(shown) }) {
		p.t.Fatalf("waited in vain for %s; the screen shows\n%s", what, shown)
	}
	return shown
}

// prompted waits for an empty prompt at the end of the screen.
func (p *tty) prompted() string {
	p.t.Helper()
	return p.until("the prompt", func(shown string) bool { return strings.HasSuffix(shown, "\n›") || shown == "›" })
}

// left waits until the chat has ended.
func (p *tty) left() {
	p.t.Helper()
	select {
	case err := <-p.done:
		p.done <- err
		if err != nil {
			p.t.Errorf("Chat = %v, want nil", err)
		}
	case <-time.After(time.Minute):
		p.t.Fatalf("the chat did not end; the screen shows\n%s", p.screen.String())
	}
}

// vt emulates as much of a terminal as the chat needs, and fails the test on anything else.
type vt struct {
	columns, rows int

	mu     sync.Mutex
	lines  [][]string // cells; a wide character's second cell is ""
	x, y   int
	rest   string
	styles int // style changes seen
	odd    []string
}

func (v *vt) write(b []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := v.rest + string(b)
	v.rest = ""
	for state := -1; text != ""; {
		if text[0] == '\x1b' {
			end := strings.IndexFunc(text[1:], func(r rune) bool { return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') })
			if end < 0 {
				v.rest = text
				return
			}
			v.escape(text[1 : end+2])
			text, state = text[end+2:], -1
			continue
		}
		if !utf8.FullRuneInString(text) {
			v.rest = text
			return
		}
		var cluster string
		var width int
		cluster, text, width, state = uniseg.FirstGraphemeClusterInString(text, state)
		v.put(cluster, width)
	}
}

func (v *vt) put(cluster string, width int) {
	switch cluster {
	case "\r":
		v.x = 0
		return
	case "\r\n":
		v.x = 0
		v.down()
		return
	case "\n":
		v.down()
		return
	}
	if v.x+width > v.columns { // a full line goes on in the next
		v.x = 0
		v.down()
	}
	for len(v.lines) <= v.y {
		v.lines = append(v.lines, nil)
	}
	for len(v.lines[v.y]) < v.x+width {
		v.lines[v.y] = append(v.lines[v.y], " ")
	}
	if width == 0 {
		return
	}
	v.lines[v.y][v.x] = cluster
	for i := 1; i < width; i++ {
		v.lines[v.y][v.x+i] = ""
	}
	v.x += width
}

func (v *vt) down() {
	v.y++
	for len(v.lines) <= v.y {
		v.lines = append(v.lines, nil)
	}
}

func (v *vt) escape(s string) {
	n := 0
	_, _ = fmt.Sscanf(s, "[%d", &n)
	switch {
	case strings.HasSuffix(s, "m"):
		v.styles++
	case s == "[?2004h" || s == "[?2004l":
	case s == "[J":
		if v.y < len(v.lines) {
			v.lines = v.lines[:v.y+1]
			v.lines[v.y] = v.lines[v.y][:min(v.x, len(v.lines[v.y]))]
		}
	case s == "[H":
		v.x, v.y = 0, 0
	case s == "[2J":
		v.lines = nil
	case strings.HasSuffix(s, "A"):
		v.y = max(0, v.y-n)
	case strings.HasSuffix(s, "C"):
		v.x = min(v.columns-1, v.x+n)
	default:
		v.odd = append(v.odd, s)
	}
}

// String returns the screen, with the text that has scrolled off above it.
func (v *vt) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	for _, line := range v.lines {
		b.WriteString(strings.TrimRight(strings.Join(line, ""), " ") + "\n")
	}
	return strings.TrimSpace(b.String())
}

func TestATalk(t *testing.T) {
	g := newGateway(t, func(q string) string { return "You said **" + q + "** and I say:\n\n- one\n- two" })
	g.put(live.Item{ID: "a", From: live.FromPerson, Text: "What did we\nsay last?"})
	g.put(live.Item{ID: "b", From: live.FromDragoman, Text: "Nothing of " + strings.Repeat("importance ", 20)})
	p := sit(t, g, 60, 20, terminal.ChatOptions{})
	p.sees("› What did we say last?", "  Nothing of importance", "…", "Ctrl-D quits", "›")
	p.prompted()
	p.key("hello\r")
	p.sees("› hello", "· web_fetch …", "You said hello and I say:\n\n- one\n- two")
	p.prompted()
	p.key("/sta\t\r")
	p.sees("› /status", "Done: /status")
	p.prompted()
	p.key("\x1b[A\x1b[A\r") // hello again, from the history
	p.sees("Done: /status", "› hello", "You said hello and I say:")
	t.Logf("the screen:\n%s", p.prompted())
	p.key("\x04")
	p.left()
	if got := strings.Count(p.screen.String(), "You said"); got != 2 {
		t.Errorf("the answers are shown %d times, want 2:\n%s", got, p.screen.String())
	}
	if len(p.screen.odd) > 0 || p.screen.styles == 0 {
		t.Errorf("odd sequences %q, %d style changes; want none and some", p.screen.odd, p.screen.styles)
	}
}

// Each call of a tool has one line, in the order of the calls, however it is heard of.
func TestToolsOnTheScreen(t *testing.T) {
	for name, test := range map[string]struct {
		columns int
		asks    []string
		sees    []string
		calls   int
	}{
		"one":            {60, []string{"hello"}, []string{"› hello\n· web_fetch …\nThe answer to hello"}, 1},
		"one twice":      {60, []string{"tool and tool"}, []string{"· recall …\n· recall …\n· web_fetch …\nThe answer to tool and tool"}, 3},
		"in two turns":   {60, []string{"tool", "tool again"}, []string{"› tool\n· recall …\n· web_fetch …\nThe answer to tool\n", "› tool again\n· recall …\n· web_fetch …\nThe answer to tool again"}, 4},
		"a narrow place": {20, []string{"tool"}, []string{"· recall …\n· web_fetch …\nThe answer to tool"}, 2},
		"many":           {60, []string{strings.TrimSpace(strings.Repeat("tool ", 9))}, []string{strings.Repeat("· recall …\n", 9) + "· web_fetch …\nThe answer to tool"}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, func(q string) string { return "The answer to " + q })
			p := sit(t, g, test.columns, 30, terminal.ChatOptions{})
			p.prompted() // which does not wait for the connection
			testkit.Eventually(t, "the terminal to watch: it misses earlier calls", g.watch.Load)
			for i, ask := range test.asks {
				p.key(ask + "\r")
				p.sees(test.sees[i])
				p.prompted()
			}
			p.key("\x04")
			p.left()
			if n := strings.Count(p.screen.String(), "\n· "); n != test.calls {
				t.Errorf("%d lines, want %d:\n%s", n, test.calls, p.screen.String())
			}
		})
	}
}

func TestEditingOnTheScreen(t *testing.T) {
	g := newGateway(t, func(q string) string { return "<" + q + ">" })
	p := sit(t, g, 20, 10, terminal.ChatOptions{NoColor: true, History: -1})
	p.prompted()
	p.key("漢字かな漢字かな漢字") // wider than a row
	p.sees("› 漢字かな漢字かな漢\n字")
	p.key("\x7f\x7f\x01x\x05yz")
	p.sees("› x漢字かな漢字かなy\nz")
	p.key("\x15\x1b[200~first\nsecond\x1b[201~")
	p.sees("› first\n  second")
	p.key("\r")
	p.sees("<first", "second>")
	p.prompted()
	if got := g.said(); len(got) != 1 || got[0] != "first\nsecond" {
		t.Errorf("stored = %q, want the paste as one message", got)
	}
	p.key("/s\t")
	p.sees("/status  /stop", "› /st")
	p.key("\x03")
	p.prompted()
	p.key("\x03")
	p.sees("Ctrl-C again")
	p.key("\x03")
	p.left()
	if p.screen.styles != 0 {
		t.Errorf("%d style changes without colour, want none", p.screen.styles)
	}
}

func TestStopAnAnswer(t *testing.T) {
	g := newGateway(t, func(string) string { return "begin " + strings.Repeat("and on ", 3000) + "end" })
	p := sit(t, g, 60, 20, terminal.ChatOptions{History: -1})
	p.prompted()
	p.key("go\r")
	p.sees("begin and on and on")
	p.key("typed ahead\x03")
	p.sees("stopping", "*(stopped)*")
	p.until("the line typed ahead", func(s string) bool { return strings.HasSuffix(s, "\n› typed ahead") })
	if shown := p.screen.String(); strings.Count(shown, "begin") != 1 {
		t.Errorf("what was shown before the stop is shown again:\n%s", shown)
	}
	p.key("\x15second\r")
	p.sees("› second", "begin and on")
	if got := g.said(); len(got) != 3 || got[1] != "/stop" || got[2] != "second" {
		t.Errorf("stored = %q", got)
	}
	p.key("\x03")
	p.sees("› second", "stopping")
	t.Logf("the screen:\n%s", p.prompted())
}

// A question is answered while the message that it is about still waits. Other lines wait.
func TestAnswerAQuestion(t *testing.T) {
	for typed, want := range map[string]string{"y\r": "/allow k3fq", "No\r": "/deny k3fq", "/always K7QM\r": "/always K7QM"} {
		release := make(chan struct{})
		g := newGateway(t, func(string) string {
			<-release
			return "well"
		})
		p := sit(t, g, 60, 20, terminal.ChatOptions{History: -1})
		p.prompted()
		p.key("go\r")
		testkit.Eventually(t, "the message", func() bool { return len(g.said()) == 1 })
		g.ask("May I run it?", "k3fq")
		p.sees("May I run it?", "y allows, n refuses")
		p.key("later\r")
		p.key(typed)
		testkit.Eventually(t, "the answer "+want, func() bool {
			said := g.said()
			return len(said) > 1 && said[1] == want
		})
		close(release)
		p.sees("Done: " + want)
	}
}

// A question that waits is shown whole when the chat is opened again, and answered as before.
// One that is over is a line of the history.
func TestAnswerAQuestionAfterOpeningAgain(t *testing.T) {
	const question = "May I run a command that is too long for one line of this window? Its code is k3fq."
	g := newGateway(t, strings.ToUpper)
	g.put(live.Item{ID: "one", From: live.FromPerson, Text: "go", Waiting: true})
	g.put(live.Item{ID: "question/k3fq", From: live.FromDragoman, Text: question, Asks: "k3fq"})
	g.put(live.Item{ID: "two", From: live.FromPerson, Text: "/status"})
	g.put(live.Item{ID: "three", From: live.FromDragoman, Text: "A message is kept."})
	p := sit(t, g, 60, 20, terminal.ChatOptions{})
	p.sees("A message is kept.", "May I run", "Its code is k3fq.", "y allows, n refuses")
	p.prompted()
	p.key("n\r")
	p.sees("Done: /deny k3fq")
	p.key("\x04")
	p.left()
	p = sit(t, g, 60, 20, terminal.ChatOptions{})
	if shown := p.prompted(); strings.Contains(shown, "y allows") {
		t.Errorf("an answered question is asked again:\n%s", shown)
	}
	p.key("n\r")
	testkit.Eventually(t, "the n as it is", func() bool {
		said := g.said()
		return said[len(said)-1] == "n"
	})
}

func TestAWordToLeaveWith(t *testing.T) {
	g := newGateway(t, strings.ToUpper)
	p := sit(t, g, 60, 20, terminal.ChatOptions{History: -1})
	p.prompted()
	p.key("/q\t\r")
	p.left()
	if got := g.said(); len(got) != 0 {
		t.Errorf("stored = %q, want nothing", got)
	}
}

func TestTypedAhead(t *testing.T) {
	g := newGateway(t, func(q string) string { return "answer to " + q + ", long enough to be typed into" })
	g.pace = 30 * time.Millisecond
	p := sit(t, g, 60, 20, terminal.ChatOptions{History: -1})
	p.prompted()
	p.key("one\r")
	p.sees("web_fetch")
	p.key("two\rthree\r")
	p.sees("› one", "answer to one, long enough to be typed into", "› two", "answer to two, long", "› three", "answer to three, long")
	t.Logf("the screen:\n%s", p.prompted())
}

func TestTheDaemonRestarts(t *testing.T) {
	g := newGateway(t, func(q string) string { return "answer to " + q })
	p := sit(t, g, 60, 20, terminal.ChatOptions{History: -1})
	p.prompted()
	g.down()
	p.sees("connection lost")
	p.prompted()
	p.key("are you there\r")
	g.put(live.Item{ID: "night", From: live.FromDragoman, Text: "Said meanwhile."})
	p.sees("› are you there")
	g.up()
	p.sees("connected again")
	p.sees("answer to are you there")
	shown := p.prompted()
	for _, once := range []string{"Said meanwhile.", "answer to are you there", "connection lost"} {
		if strings.Count(shown, once) != 1 {
			t.Errorf("%q is shown %d times, want once", once, strings.Count(shown, once))
		}
	}
	if got := g.said(); len(got) != 1 {
		t.Errorf("stored = %q, want the line once", got)
	}
	t.Logf("the screen:\n%s", shown)
}

func TestUnsentIsSaid(t *testing.T) {
	g := newGateway(t, strings.ToUpper)
	p := sit(t, g, 60, 20, terminal.ChatOptions{History: -1})
	p.prompted()
	g.down()
	p.sees("connection lost")
	p.key("important\r\x03\x03")
	p.left()
	p.sees("not sent: important")
}

// A message that arrives while the person types appears above the line, which stays
// unchanged.
func TestNewsWhileWriting(t *testing.T) {
	g := newGateway(t, strings.ToUpper)
	p := sit(t, g, 60, 20, terminal.ChatOptions{History: -1})
	p.prompted()
	p.key("half a li")
	p.sees("› half a li")
	if err := g.client.Post(t.Context(), "other-window", "from elsewhere"); err != nil {
		t.Fatal(err)
	}
	p.until("news above the line", func(s string) bool {
		return strings.Contains(s, "› from elsewhere") && strings.Contains(s, "FROM ELSEWHERE\n\n› half a li")
	})
	p.key("ne\r")
	p.sees("› half a line", "HALF A LINE")
}
