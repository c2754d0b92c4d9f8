// Package mcptest has servers of MCP for tests of a client: good ones, made with the
// official SDK, in both eras of the protocol, and one that misbehaves in every way that
// was seen or can be thought of.
//
// The misbehaving one speaks the protocol by hand, because no library would send what it
// sends. [Names] lists its behaviours and [Does] describes each. All of them offer the
// tool echo, which always works, so a test can see whether a client recovers, and most
// offer the tool work, which misbehaves. A behaviour speaks the present era (2026-07-28)
// and the former one (2025-11-25), or with "@old" after its name the former alone.
//
// Over a pipe a server is a process. A test binary becomes one if its TestMain calls
// [Main] first; [Command] is the command line of that. Over HTTP a server is a
// [Handler]. By hand: go run ./agent/mcp/mcptest/server hang.
//
// [Random] is a server that changes at random what it should send, by a seed.
//
// Failures: none that is not meant. A name that is not known ends the process with 2.
//
// Goroutines: a process ends with its own. Those of a Handler end with its requests.
package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// word is the first argument of a test binary that is to be a server.
const word = "mcptest"

// Main turns the program into a server and ends it, if its arguments ask for that.
func Main() {
	if len(os.Args) > 2 && os.Args[1] == word {
		os.Exit(Run(os.Args[2], os.Args[3:]...))
	}
}

// Command is how the program that runs is started as a server with a behaviour, or as
// one of the good ones.
func Command(name string, args ...string) []string {
	program, err := os.Executable()
	if err != nil {
		panic(err) // a test binary has a path
	}
	return append([]string{program, word, name}, args...)
}

// Names are the behaviours of the misbehaving server, sorted.
func Names() []string { return slices.Sorted(maps.Keys(behaviours())) }

// Does says what the server of that name does; "" if there is none.
func Does(name string) string { return behaviours()[name].does + web[name].does }

// Run serves the process's own pipe until it ends, and returns the exit code.
func Run(name string, args ...string) int {
	if slices.Contains(Good, name) {
		return runGood(name)
	}
	name, old := strings.CutSuffix(name, "@old")
	b, ok := behaviours()[name]
	var x *chaos
	if name == Random {
		x = newChaos(seedOf(args))
		b = randomBehaviour(x.n(2) == 0)
		ok = true
	}
	if !ok {
		fmt.Fprintf(os.Stderr, "mcptest: no server is called %q; there are: %s\n", name, strings.Join(Names(), " "))
		return 2
	}
	c := &conn{ctx: context.Background(), out: os.Stdout, frame: "%s\n", old: old, args: args, chaos: x}
	b.serve(c, os.Stdin)
	return 0
}

// behaviour is one way to be a server.
type behaviour struct {
	does  string
	tools string // what tools/list has, in JSON; "": echo and work
	start func(c *conn)
	// on has the methods that are answered in another way than usual. "work" is a call of
	// that tool, and "" what answers a question of the server.
	on  map[string]func(c *conn, m message)
	end func(c *conn) // after the end of the input
}

// serve reads lines until the input ends.
func (b behaviour) serve(c *conn, in io.Reader) {
	if b.start != nil {
		b.start(c)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			b.handle(c, m)
		}
	}
	if b.end != nil {
		b.end(c)
	}
}

// handle answers one message.
func (b behaviour) handle(c *conn, m message) {
	method := m.Method
	if method == "tools/call" && m.Params.Name == "work" {
		method = "work"
	}
	if m.Method == "subscriptions/listen" {
		c.listen = m.ID
	}
	if special, ok := b.on[method]; ok {
		special(c, m)
		return
	}
	usual(c, m, b.tools)
}
