package usage_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/usage"
	"dragoman/sessions"
)

// sums is a store of counts.
type sums []sessions.Count

func (s sums) Sums(_ context.Context, f sessions.SumFilter) (list []sessions.Count, err error) {
	for _, c := range s {
		if c.Kind == f.Kind && (f.Owner == "" || c.Owner == f.Owner) {
			list = append(list, c)
		}
	}
	return list, nil
}

var day = time.Date(2026, 11, 29, 23, 30, 0, 0, time.FixedZone("far east", 9*3600))

// turn is a turn of ann's that asked two models and called a tool.
func turn(chat string) usage.Turn {
	return usage.Turn{
		Person: "x:ann", Chat: channels.MustKey(chat), At: day, Messages: []sessions.Message{
			{Role: sessions.RoleUser, Content: "hello"},
			{Role: sessions.RoleAssistant, Model: "small", ToolCalls: []sessions.ToolCall{{ID: "1"}}, Usage: &sessions.Usage{Input: 100, Output: 5, Cached: 60, Cost: 0.0000001}},
			{Role: sessions.RoleTool, Content: "result"},
			{Role: sessions.RoleAssistant, Model: "large", Usage: &sessions.Usage{Input: 200, Output: 10, Cost: 0.5}},
		},
	}
}

func read(t *testing.T, s sums, q usage.Query) usage.Report {
	t.Helper()
	q.From, q.To = "2026-11-01", "2026-11-30"
	r, err := usage.Read(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// names are the rows of a report with their tokens.
func names(r usage.Report) map[string]int {
	m := map[string]int{}
	for _, row := range r.Rows {
		m[row.Name] = row.Input + row.Output
	}
	return m
}

func TestReport(t *testing.T) {
	s := sums(append(turn("x:ann").Counts(), turn("x:#go").Counts()...))
	all := usage.Used{Turns: 2, Tools: 2, Usage: sessions.Usage{Input: 600, Output: 30, Cached: 120, Cost: 1.0000002}}
	for by, want := range map[usage.By]map[string]int{
		usage.ByDay:    {"2026-11-29": 630},
		usage.ByModel:  {"small": 210, "large": 420},
		usage.ByPerson: {"x:ann": 630},
		usage.ByChat:   {"x:ann": 315, "x:#go": 315},
	} {
		r := read(t, s, usage.Query{By: by})
		if diff := cmp.Diff(want, names(r)); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", by, diff)
		}
		if diff := cmp.Diff(all, r.Total); diff != "" {
			t.Errorf("the total by %s (-want +got):\n%s", by, diff)
		}
		if r.Since != "2026-11-29" {
			t.Errorf("by %s since %s", by, r.Since)
		}
	}
	r := read(t, s, usage.Query{By: usage.ByModel, Limit: 1})
	if len(r.Rows) != 1 || r.Rows[0].Name != "large" || r.Others.Input != 200 || r.Others.Tools != 2 || len(r.Rows[0].Days) != 1 {
		t.Errorf("the first row is %+v, and the others are %+v", r.Rows, r.Others)
	}
}

// What a job used is the job's, and nobody else's.
func TestJobs(t *testing.T) {
	nightly := turn("x:#go")
	nightly.Person = ""
	nightly.Job = "nightly"
	s := sums(append(nightly.Counts(), turn("x:ann").Counts()...))
	for by, want := range map[usage.By]map[string]int{usage.ByJob: {"nightly": 315}, usage.ByPerson: {"x:ann": 315}} {
		if diff := cmp.Diff(want, names(read(t, s, usage.Query{By: by}))); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", by, diff)
		}
	}
}

// A long report comes in pages.
func TestPages(t *testing.T) {
	s := sums(append(turn("x:ann").Counts(), turn("x:#go").Counts()...))
	r := read(t, s, usage.Query{By: usage.ByModel, Skip: 1, Limit: 1})
	if len(r.Rows) != 1 || r.Rows[0].Name != "small" || r.Others != (usage.Used{}) || r.Total.Input != 600 {
		t.Errorf("the second page is %+v", r)
	}
	if r := read(t, s, usage.Query{By: usage.ByModel, Skip: 9, Limit: 1}); len(r.Rows) != 0 {
		t.Errorf("a page after the last has %+v", r.Rows)
	}
}

// Only the named owners are read, and identities of one person are one row.
func TestPeople(t *testing.T) {
	one, other := turn("x:ann"), turn("y:ann")
	other.Person = "y:ann"
	s := sums(append(one.Counts(), other.Counts()...))
	joined := func(_ context.Context, identity string) (string, error) {
		return strings.Replace(identity, "y:", "x:", 1), nil
	}
	if got := names(read(t, s, usage.Query{By: usage.ByPerson, Person: joined})); !cmp.Equal(got, map[string]int{"x:ann": 630}) {
		t.Errorf("joined people used %v", got)
	}
	if got := names(read(t, s, usage.Query{By: usage.ByDay, Owners: []string{"y:ann"}})); !cmp.Equal(got, map[string]int{"2026-11-29": 315}) {
		t.Errorf("one identity used %v", got)
	}
}

// A turn without a conversation counts for its person and its models.
func TestWithoutConversation(t *testing.T) {
	given := turn("x:ann")
	given.Chat = channels.Key{}
	s := sums(given.Counts())
	for by, want := range map[usage.By]map[string]int{
		usage.ByDay: {"2026-11-29": 315}, usage.ByModel: {"small": 105, "large": 210}, usage.ByPerson: {"x:ann": 315}, usage.ByChat: {},
	} {
		if diff := cmp.Diff(want, names(read(t, s, usage.Query{By: by}))); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", by, diff)
		}
	}
}

// A summary is no turn.
func TestASummary(t *testing.T) {
	aside := turn("x:ann")
	aside.Aside = true
	r := read(t, sums(aside.Counts()), usage.Query{By: usage.ByModel})
	if r.Total.Turns != 0 || r.Total.Input != 300 {
		t.Errorf("a summary counts as %+v", r.Total)
	}
}

// What no model answered is not counted, and what cannot be an owner never fails a commit.
func TestNotCounted(t *testing.T) {
	apology := usage.Turn{Person: "x:ann", Chat: channels.MustKey("x:ann"), At: day, Messages: []sessions.Message{{Role: sessions.RoleAssistant, Content: "Sorry", Synthetic: true}}}
	if got := apology.Counts(); got != nil {
		t.Errorf("an apology counts %v", got)
	}
	long := turn("x:" + strings.Repeat("a", 250))
	long.Person = "x:\xff"
	long.Messages[1].Model = "a\x00b"
	for _, c := range long.Counts() {
		if c.Owner != "model/large" {
			t.Errorf("the owner %q is counted", c.Owner)
		}
	}
}

func TestRange(t *testing.T) {
	for _, test := range []struct{ from, to, first, last string }{
		{"", "", "2026-10-31", "2026-11-29"},
		{"2026-11-20", "", "2026-11-20", "2026-11-29"},
		{"", "2026-01-30", "2026-01-01", "2026-01-30"},
		{"yesterday", "", "", ""},
		{"2026-11-20", "2026-11-19", "", ""},
	} {
		first, last, err := usage.Range(test.from, test.to, day)
		if first != test.first || last != test.last || (err != nil) != (test.first == "") {
			t.Errorf("Range(%q, %q) = %s, %s, %v", test.from, test.to, first, last, err)
		}
	}
}
