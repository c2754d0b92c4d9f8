package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"dragoman/channels"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
)

// readPart reads the first messages within b or, if b has no After, the last ones.
// It returns them oldest first, and all of them if most is 0.
func readPart(ctx context.Context, a *httpapi.Client, key channels.Key, b httpapi.Bounds, most int) (part []sessions.Message, err error) {
	backwards := b.After == "" && most > 0
	switch {
	case backwards:
		b.Before = cmp.Or(b.Before, theEnd)
	default:
		b.After = cmp.Or(b.After, "0")
	}
	var pages [][]sessions.Message
	for n := 0; most == 0 || n < most; {
		size := pageSize
		if most > 0 {
			size = min(size, most-n)
		}
		page, err := httpapi.ReadMessages.Call(ctx, a, httpapi.Part{Key: key, Limit: size, Bounds: b})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		pages, n = append(pages, page), n+len(page)
		if backwards {
			b.Before = strconv.FormatInt(page[0].Seq, 10)
		} else {
			b.After = strconv.FormatInt(page[len(page)-1].Seq, 10)
		}
	}
	if backwards {
		slices.Reverse(pages)
	}
	return slices.Concat(pages...), nil
}

const theEnd = "9223372036854775807"

// count sets how many messages come before and after the shown ones. The numbers
// of messages have no gaps.
func (s *view) count(ctx context.Context, a *httpapi.Client, b httpapi.Bounds) error {
	if len(s.generations) == 0 {
		return nil
	}
	first, last := s.generations[0].FirstSeq, s.generations[len(s.generations)-1].LastSeq
	from, to := last+1, last // of what is shown
	if n := len(s.kept); n > 0 {
		from, to = s.kept[0].Seq, s.kept[n-1].Seq
	} else if b.Before != "" {
		before, err := httpapi.ReadMessages.Call(ctx, a, httpapi.Part{Key: s.head.Key, Limit: 1, Bounds: httpapi.Bounds{Before: b.Before}})
		if err != nil {
			return err
		}
		from = first
		if len(before) > 0 {
			from = before[0].Seq + 1
		}
		to = from - 1
	}
	s.earlier, s.later = int(from-first), int(max(last-to, 0))
	return nil
}
