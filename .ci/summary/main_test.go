package main

import (
	"bytes"
	"strings"
	"testing"
)

// What somebody sees of a run: one line for a package that passes, everything of what
// fails, who was skipped and why, and at the end what is to be mended.
func TestSummary(t *testing.T) {
	input := `a compiler's line
{"Action":"run","Package":"dragoman/a","Test":"TestGood"}
{"Action":"output","Package":"dragoman/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"dragoman/a","Test":"TestGood","Output":"    a_test.go:3: nobody reads this\n"}
{"Action":"pass","Package":"dragoman/a","Test":"TestGood"}
{"Action":"output","Package":"dragoman/a","Test":"TestAway","Output":"=== RUN   TestAway\n"}
{"Action":"output","Package":"dragoman/a","Test":"TestAway","Output":"time=09:00 msg=\"it is up\" at=main.go:7 reason=\"\"\n"}
{"Action":"output","Package":"dragoman/a","Test":"TestAway","Output":"    a_test.go:9: the moon is not installed\n"}
{"Action":"output","Package":"dragoman/a","Test":"TestAway","Output":"--- SKIP: TestAway (0.00s)\n"}
{"Action":"skip","Package":"dragoman/a","Test":"TestAway"}
{"Action":"output","Package":"dragoman/a","Output":"PASS\n"}
{"Action":"output","Package":"dragoman/a","Output":"ok  \tdragoman/a\t0.1s\n"}
{"Action":"pass","Package":"dragoman/a"}
{"Action":"output","Package":"dragoman/b","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"dragoman/b","Test":"TestBad","Output":"    b_test.go:4: the seed is 7\n"}
{"Action":"output","Package":"dragoman/b","Test":"TestBad","Output":"    b_test.go:5: it is broken\n"}
{"Action":"fail","Package":"dragoman/b","Test":"TestBad"}
{"Action":"output","Package":"dragoman/b","Output":"FAIL\tdragoman/b\t0.1s\n"}
{"Action":"fail","Package":"dragoman/b"}
`
	var out bytes.Buffer
	s := &summary{out: &out, said: map[name][]string{}, reasons: map[string][]string{}}
	for line := range strings.SplitAfterSeq(input, "\n") {
		s.line(line)
	}
	s.skipped()
	s.failures()
	const want = `a compiler's line
ok  	dragoman/a	0.1s
    b_test.go:4: the seed is 7
    b_test.go:5: it is broken
FAIL	dragoman/b	0.1s
Skipped tests: 1
  the moon is not installed
    a TestAway
Failed tests: 1
  b TestBad
    the seed is 7
    it is broken
`
	if out.String() != want || !s.failed {
		t.Errorf("printed:\n%s\nwant:\n%s", out.String(), want)
	}
}
