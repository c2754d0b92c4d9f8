package main

import (
	"context"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// walk calls f once for each conversation that q chooses, page by page; Limit
// and After of q are its own. A conversation that gets a message meanwhile
// moves to the top, away from the pages that are still to come. So what was
// updated since the walk began is looked through again, until nothing is new.
// It ends with the first error of find or of f.
func walk[C interface{ Position() sessions.Cursor }](ctx context.Context, find func(context.Context, sessions.Query) ([]C, error), q sessions.Query, f func(C) error) error {
	seen := make(map[channels.Key]bool)
	q.Limit = sessions.MaxPage
	for fresh := true; fresh; {
		fresh = false
		var newest time.Time
		for q.After = nil; ; {
			page, err := find(ctx, q)
			if err != nil {
				return err
			}
			for _, c := range page {
				at := c.Position()
				if at.Updated.After(newest) {
					newest = at.Updated
				}
				if seen[at.Key] {
					continue
				}
				seen[at.Key], fresh = true, true
				if err := f(c); err != nil {
					return err
				}
			}
			if len(page) < sessions.MaxPage {
				break
			}
			last := page[len(page)-1].Position()
			q.After = &last
		}
		if since := newest.Add(-1); since.After(q.UpdatedAfter) { // that nanosecond included
			q.UpdatedAfter = since
		}
	}
	return nil
}
