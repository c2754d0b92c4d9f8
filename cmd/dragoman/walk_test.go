package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// shelf is a list of conversations in which something happens between pages.
type shelf struct {
	all     []sessions.Conversation
	between func(page int)
	pages   int
}

func (s *shelf) find(_ context.Context, q sessions.Query) (page []sessions.Conversation, err error) {
	if s.pages++; s.pages > 1 && s.between != nil {
		s.between(s.pages)
	}
	slices.SortFunc(s.all, func(a, b sessions.Conversation) int { return b.Updated.Compare(a.Updated) })
	for _, c := range s.all {
		if !q.UpdatedAfter.IsZero() && !c.Updated.After(q.UpdatedAfter) || q.After != nil && !c.Updated.Before(q.After.Updated) {
			continue
		}
		if page = append(page, c); len(page) == q.Limit {
			break
		}
	}
	return page, nil
}

func newShelf(n int) *shelf {
	s := &shelf{}
	for i := range n {
		s.all = append(s.all, sessions.Conversation{Key: channels.MustKey(fmt.Sprint("x:", i)), Updated: time.Unix(int64(i), 0)})
	}
	return s
}

// TestWalkMeetsWhatMoves: each conversation is met once, also one that moves
// from a page to come to one that was read.
func TestWalkMeetsWhatMoves(t *testing.T) {
	for _, n := range []int{0, 1, sessions.MaxPage, 3*sessions.MaxPage + 7} {
		s := newShelf(n)
		moves := 0
		s.between = func(page int) {
			if moves == 5 || n < 2 {
				return
			}
			moves++
			s.all[len(s.all)-1].Updated = time.Unix(int64(n+page), 0) // the last of the last page
		}
		met := map[channels.Key]int{}
		err := walk(t.Context(), s.find, sessions.Query{Limit: 3}, func(c sessions.Conversation) error {
			met[c.Key]++
			return nil
		})
		if err != nil || len(met) != n {
			t.Errorf("of %d conversations %d were met: %v", n, len(met), err)
		}
		for k, times := range met {
			if times != 1 {
				t.Errorf("%s was met %d times", k, times)
			}
		}
	}
}

func TestWalkEndsWithAnError(t *testing.T) {
	broken := errors.New("broken")
	find := func(context.Context, sessions.Query) ([]sessions.Conversation, error) { return nil, broken }
	if err := walk(t.Context(), find, sessions.Query{}, func(sessions.Conversation) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("walk = %v, want the error of find", err)
	}
	n := 0
	err := walk(t.Context(), newShelf(10).find, sessions.Query{}, func(sessions.Conversation) error { n++; return broken })
	if !errors.Is(err, broken) || n != 1 {
		t.Errorf("walk = %v after %d, want the error of the first", err, n)
	}
}
