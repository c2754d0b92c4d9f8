package bench_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	goalForm  = regexp.MustCompile(`(?:(p\d+) )?([≤≥<]) ([\d.]+)(?: (ms|s|MB|×|%))?`)
	valueForm = regexp.MustCompile(`(?:(\w+) )?(\d[\d.]*)(?: (ms|s|MB|×|%))?`)
)

// missed reports whether got, as it stands in a table, misses its goal. A goal
// that names a percentile is for that one; any other is for the value called
// median, or else for the first.
func missed(goal, got string) bool {
	values := valueForm.FindAllStringSubmatch(got, -1)
	for _, g := range goalForm.FindAllStringSubmatch(goal, -1) {
		if len(values) == 0 {
			return true
		}
		v := values[0]
		for _, other := range values {
			if other[1] == g[1] && g[1] != "" || other[1] == "median" && g[1] == "" {
				v = other
			}
		}
		limit, is := amount(g[3], g[4]), amount(v[2], v[3])
		if g[2] == "≤" && is > limit || g[2] == "≥" && is < limit || g[2] == "<" && is >= limit {
			return true
		}
	}
	return false
}

// amount is a number with its unit, times in milliseconds.
func amount(number, unit string) float64 {
	f, _ := strconv.ParseFloat(number, 64) // the forms let nothing else through
	if unit == "s" {
		f *= 1000
	}
	return f
}

// noGrowth is the goal of rows of which the first is for the least stored.
const noGrowth = "does not grow"

// grown reports whether is, of much that is stored, misses noGrowth: less than
// that is what one run differs from another.
func grown[T float64 | time.Duration](is, first T) bool { return is > 2*first }

// measured is the cell of a table for got, which says so if the goal is missed.
func measured(goal, got string) string {
	if missed(goal, got) {
		return "**" + got + "** (missed)"
	}
	return "**" + got + "**"
}

func TestMissed(t *testing.T) {
	for _, tt := range []struct {
		goal, got string
		want      bool
	}{
		{"p50 ≤ 3 ms, p99 ≤ 25 ms", "p50 3.00 ms, p99 25.0 ms", false},
		{"p50 ≤ 3 ms, p99 ≤ 25 ms", "p50 3.01 ms, p99 11.3 ms", true},
		{"p50 ≤ 3 ms, p99 ≤ 25 ms", "p50 2.86 ms, p99 25.3 ms", true},
		{"p50 ≤ 0.5 ms", "p50 0.34 ms, p95 2.93 ms", false},
		{"p50 ≤ 0.5 ms", "p50 0.56 ms, p95 4.58 ms", true},
		{"≥ 1000", "1055", false},
		{"≥ 1000", "999", true},
		{"≤ 2.5 s", "2.41 s", false},
		{"≤ 2.5 s", "2.51 s", true},
		{"≤ 150 ms", "median 21.5 ms, slowest 226 ms", false},
		{"≤ 150 ms", "median 151 ms, slowest 226 ms", true},
		{"≤ 80 MB", "133 MB", true},
		{"≤ 1.2 ×", "1.04 ×", false},
		{"≤ 1.2 ×", "1.21 ×", true},
		{"≥ 95 %", "96.6 %", false},
		{"≥ 95 %", "94.9 %", true},
		{"< 1 s", "best 846 ms, median 1000 ms, worst 2011 ms", true},
		{"< 1 s", "best 846 ms, median 999 ms, worst 2011 ms", false},
		{"-", "31 MB, 43 MB", false},
		{"does not grow", "median 76.8 ms (opening the store 10.2 ms)", false},
	} {
		if got := missed(tt.goal, tt.got); got != tt.want {
			t.Errorf("missed(%q, %q) = %v", tt.goal, tt.got, got)
		}
	}
}

// The published tables must say which of their goals are missed.
func TestPublishedTablesSayWhatIsMissed(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, least := 0, 0.0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || !strings.Contains(cells[2], "**") {
			continue
		}
		rows++
		cell := strings.TrimSuffix(cells[2], " |")
		got, _, _ := strings.Cut(strings.TrimPrefix(cell, "**"), "**")
		want := measured(cells[1], got)
		if cells[1] != noGrowth {
			least = 0
		} else if v := valueForm.FindStringSubmatch(got[strings.Index(got, "median"):]); least == 0 {
			least = amount(v[2], v[3])
		} else if grown(amount(v[2], v[3]), least) {
			want += " (missed)"
		}
		if cell != want {
			t.Errorf("%s: measured is %q, want %q", cells[0], cell, want)
		}
	}
	if rows < 20 {
		t.Errorf("%d rows were found", rows)
	}
}
