package file

import (
	"slices"

	"dragoman/sessions"
	"dragoman/sessions/memory"
	"dragoman/sessions/rows"
)

// change is one change of a key with the number of its commit.
type change struct {
	lsn int64
	memory.ChatChange
}

// apply makes content what it is after ch.
func apply(content *memory.Content, ch memory.ChatChange) {
	if ch.Gone || ch.Anew {
		*content = memory.Content{}
	}
	if ch.Gone {
		return
	}
	for _, m := range ch.Messages {
		if n := len(content.Messages); n == 0 || content.Messages[n-1].Seq < m.Seq {
			content.Messages = append(content.Messages, m)
		}
	}
	if ch.Summaries != nil {
		content.Summaries = slices.Clone(*ch.Summaries)
	}
	content.In = update(content.In, ch.In, func(r *rows.In) int64 { return r.Seq })
	content.Out = update(content.Out, ch.Out, func(o *sessions.OutboxRecord) string { return o.ID })
	for _, turn := range ch.Ended {
		delete(content.Journals, turn)
	}
	for _, s := range ch.Steps {
		if content.Journals == nil {
			content.Journals = map[string][]sessions.Step{}
		}
		content.Journals[s.Turn] = append(content.Journals[s.Turn], s.Step)
	}
}

// fewRows is up to how many changed rows are looked for one by one.
const fewRows = 8

// update puts each changed row in the place of that with the same id, or behind
// all others.
func update[T any, ID comparable](list, changed []T, id func(*T) ID) []T {
	if len(changed) <= fewRows {
		for _, row := range changed {
			list = updateOne(list, row, id)
		}
		return list
	}
	// A chat that got another name, or one in which much was waiting: looking
	// for each row would take time with the square of their number.
	at := make(map[ID]int, len(list)+len(changed))
	for i := range list {
		at[id(&list[i])] = i
	}
	for _, row := range changed {
		put(&list, at, id(&row), row)
	}
	return list
}

func updateOne[T any, ID comparable](list []T, row T, id func(*T) ID) []T {
	want := id(&row)
	// What changes is nearly always among the newest.
	for i := len(list) - 1; i >= 0; i-- {
		if id(&list[i]) == want {
			list[i] = row
			return list
		}
	}
	return append(list, row)
}
