// Command summary prints the result of go test -json as go test prints it without
// -json, and at its end which tests were skipped, and why: a green run must not hide
// what nobody looked at. Last it says which tests failed, and their first reason: the logs
// of a program under test bury it.
//
//	go test -json ./... | go run ./.ci/summary
//
// Lines that are not JSON, such as errors of the compiler, are printed as they are. It
// ends with 1 if a test failed or a package could not be built.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

// event is a line of go test -json, as go doc test2json has it.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// name is a test, or a package if test is empty.
type name struct{ pkg, test string }

// summary is what was read so far.
type summary struct {
	out     io.Writer
	said    map[name][]string // what each test has printed and is not finished
	reasons map[string][]string
	broken  []broken
	failed  bool
}

// broken is a test that failed, with what it said itself.
type broken struct {
	test string
	said []string
}

// A test that failed says at most so many things at the end, each in at most so many bytes.
const (
	maxSaid  = 12
	saidSize = 400
)

func main() {
	s := &summary{out: os.Stdout, said: map[name][]string{}, reasons: map[string][]string{}}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		s.line(line)
		if err != nil {
			break
		}
	}
	s.skipped()
	s.failures()
	if s.failed {
		os.Exit(1)
	}
}

// line takes one line of the input.
func (s *summary) line(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(s.out, line)
		return
	}
	n := name{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		s.said[n] = append(s.said[n], e.Output)
	case "pass":
		s.passed(n)
	case "skip":
		s.skip(n)
	case "fail", "build-fail":
		s.fail(n)
	}
}

// passed prints the last line of a package. Nobody reads what a test says that passes.
func (s *summary) passed(n name) {
	if n.test == "" {
		s.print(n, closing)
	}
	delete(s.said, n)
}

func (s *summary) skip(n name) {
	if n.test == "" {
		s.print(n, closing)
	} else {
		why := "it does not say why"
		if own := ownWords(s.said[n]); len(own) > 0 {
			why = own[0]
		}
		s.reasons[why] = append(s.reasons[why], strings.TrimPrefix(n.pkg, "dragoman/")+" "+n.test)
	}
	delete(s.said, n)
}

// fail prints all that the test, or the package, has said.
func (s *summary) fail(n name) {
	s.failed = true
	if n.test != "" {
		s.broken = append(s.broken, broken{strings.TrimPrefix(n.pkg, "dragoman/") + " " + n.test, ownWords(s.said[n])})
	}
	s.print(n, func(line string) bool { return !strings.HasPrefix(line, "=== ") })
	delete(s.said, n)
}

func (s *summary) print(n name, wanted func(line string) bool) {
	for _, line := range s.said[n] {
		if wanted(line) {
			fmt.Fprint(s.out, line)
		}
	}
}

// closing reports whether line is the last one about a package that has no failure.
func closing(line string) bool {
	return strings.HasPrefix(line, "ok ") || strings.Contains(line, "[no test files]")
}

// ownWords are the first lines of what a test itself said, without those of a program under
// test. Errors and remarks look alike in them.
func ownWords(said []string) (own []string) {
	for _, line := range said {
		file, text, found := strings.Cut(strings.TrimSpace(line), ".go:")
		if !found || strings.Contains(file, " ") { // what the program under test has logged
			continue
		}
		_, why, _ := strings.Cut(text, ": ")
		why = strings.TrimSpace(why)
		if why == "" {
			continue
		}
		if len(why) > saidSize {
			why = strings.ToValidUTF8(why[:saidSize], "") + "…"
		}
		own = append(own, why)
	}
	return own
}

// skipped prints the reasons with their tests.
func (s *summary) skipped() {
	var reasons []string
	tests := 0
	for why, list := range s.reasons {
		reasons = append(reasons, why)
		tests += len(list)
	}
	if tests == 0 {
		fmt.Fprintln(s.out, "No test was skipped.")
		return
	}
	sort.Strings(reasons)
	fmt.Fprintf(s.out, "Skipped tests: %d\n", tests)
	for _, why := range reasons {
		list := s.reasons[why]
		fmt.Fprintf(s.out, "  %s\n", why)
		for _, test := range list[:min(len(list), 3)] {
			fmt.Fprintf(s.out, "    %s\n", test)
		}
		if more := len(list) - 3; more > 0 {
			fmt.Fprintf(s.out, "    and %d more\n", more)
		}
	}
}

// failures prints the tests that failed, with what they said.
func (s *summary) failures() {
	if len(s.broken) == 0 {
		return
	}
	fmt.Fprintf(s.out, "Failed tests: %d\n", len(s.broken))
	for _, b := range s.broken {
		fmt.Fprintf(s.out, "  %s\n", b.test)
		for _, line := range b.said[:min(len(b.said), maxSaid)] {
			fmt.Fprintf(s.out, "    %s\n", line)
		}
	}
}
