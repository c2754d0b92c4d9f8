package api_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// lists are a store whose lists are made up. What is in between is sent as it is.
type lists struct {
	api.Queue
	api.JobLog
	api.People
	api.Facts
	items    []sessions.QueueItem
	outcomes []sessions.Occurrence
	paired   []sessions.Pairing
	facts    []sessions.Fact
}

func (l *lists) ListQueue(_ context.Context, limit int) ([]sessions.QueueItem, error) {
	return slices.Clone(l.items[:min(limit, len(l.items))]), nil
}

func (l *lists) Occurrences(_ context.Context, _ string, limit int) ([]sessions.Occurrence, error) {
	return slices.Clone(l.outcomes[:min(limit, len(l.outcomes))]), nil
}

func (l *lists) Pairings(context.Context, time.Time) ([]sessions.Pairing, error) {
	return slices.Clone(l.paired), nil
}

func (l *lists) Recall(_ context.Context, scope, _ string, limit int) ([]sessions.Fact, error) {
	if scope != "chat:telegram:1" {
		return nil, nil
	}
	return slices.Clone(l.facts[:min(limit, len(l.facts))]), nil
}

// full is a server whose lists have n items each, and those lists.
func full(t *testing.T, n int) (*api.Client, *lists) {
	t.Helper()
	o := optionsOf(filled(t))
	l := &lists{Queue: o.Store.Queue, JobLog: o.Store.JobLog, People: o.Store.People, Facts: o.Store.Facts}
	for i := range n {
		at := now().Add(time.Duration(i/3) * time.Minute) // three at a time
		l.items = append(l.items, sessions.QueueItem{ID: fmt.Sprintf("out/telegram:1/%d", i), Lane: sessions.LaneOut, At: at})
		l.outcomes = append(l.outcomes, sessions.Occurrence{Job: fmt.Sprintf("job%d", i%3), Due: at})
		l.paired = append(l.paired, sessions.Pairing{Channel: "telegram", PersonID: fmt.Sprint(i)})
		l.facts = append(l.facts, sessions.Fact{ID: int64(i + 1), Text: "a fact"})
	}
	o.Store.Queue = l
	o.Store.JobLog = l
	o.Store.People = l
	o.Store.Facts = l
	return api.InProcess(api.New(o)), l
}

// pages reads a list in pages of a size and returns how many items each has, and the
// names of all.
func pages[Q, T any](t *testing.T, c *api.Client, verb api.Verb[Q, api.Page[T]], args func(after string) Q, name func(T) string, between func()) (sizes []int, names []string) {
	t.Helper()
	after := ""
	for range 100 {
		got, err := verb.Call(t.Context(), c, args(after))
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(got.Data))
		for _, one := range got.Data {
			names = append(names, name(one))
		}
		if got.Next == "" {
			return sizes, names
		}
		after = got.Next
		if between != nil {
			between()
		}
	}
	t.Fatal("the list does not end")
	return nil, nil
}

// TestPages: each list is read in pages, whole, each item once and in order.
func TestPages(t *testing.T) {
	const all = 450
	c, _ := full(t, all)
	for limit, want := range map[int][]int{0: {100, 100, 100, 100, 50}, 200: {200, 200, 50}} {
		limited := func(after string) api.Limited { return api.Limited{After: after, Limit: limit} }
		for name, list := range map[string]func() ([]int, []string){
			"the queue": func() ([]int, []string) {
				return pages(t, c, api.ListQueue, func(after string) api.QueueQuery { return api.QueueQuery{After: after, Limit: limit} }, func(i api.QueueItem) string { return i.ID }, nil)
			},
			"pairings": func() ([]int, []string) {
				return pages(t, c, api.ListPairings, limited, func(p api.Pairing) string { return p.PersonID }, nil)
			},
			"occurrences": func() ([]int, []string) {
				args := func(after string) api.JobLimited { return api.JobLimited{After: after, Limit: limit} }
				return pages(t, c, api.ListOccurrences, args, func(o api.Occurrence) string { return o.Due.String() + o.Job }, nil)
			},
			"facts": func() ([]int, []string) {
				args := func(after string) api.FactsOf {
					return api.FactsOf{Target: "telegram:1", After: after, Limit: limit}
				}
				return pages(t, c, api.ListFacts, args, func(f api.Remembered) string { return fmt.Sprint(f.ID) }, nil)
			},
		} {
			sizes, names := list()
			if diff := cmp.Diff(want, sizes); diff != "" {
				t.Errorf("%s, limit %d: the pages have %v, want %v", name, limit, sizes, want)
			}
			slices.Sort(names)
			if once := slices.Compact(names); len(once) != all {
				t.Errorf("%s, limit %d: %d items are shown, want %d", name, limit, len(once), all)
			}
		}
	}
}

// TestPagesOfAMovingList: what goes between two pages, the last of the page included,
// hides no other item.
func TestPagesOfAMovingList(t *testing.T) {
	c, l := full(t, 9)
	args := func(after string) api.QueueQuery { return api.QueueQuery{After: after, Limit: 4} }
	gone := false
	_, names := pages(t, c, api.ListQueue, args, func(i api.QueueItem) string { return i.ID[len("out/telegram:1/"):] }, func() {
		if !gone {
			gone = true
			l.items = slices.Delete(l.items, 2, 5) // 2, 3 and 4
		}
	})
	if want := []string{"0", "1", "2", "3", "5", "6", "7", "8"}; !slices.Equal(names, want) {
		t.Errorf("the pages show %v, want %v", names, want)
	}
	for _, bad := range []string{"x", "e30=", "!"} {
		if _, err := api.ListQueue.Call(t.Context(), c, api.QueueQuery{After: bad}); err == nil {
			t.Errorf("the cursor %q was taken", bad)
		}
	}
}
