package models

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
)

// maxSurveyed bounds how many models Ollama is asked to describe.
const maxSurveyed = 64

// Survey lists the chat models of s in the server's order, with what is known
// of each. Only Ollama is asked about each model.
func Survey(ctx context.Context, s Server) ([]Row, error) {
	list, err := List(ctx, s)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(m Listed) bool { return m.NoChat })
	var rows []Row
	for _, m := range list {
		rows = append(rows, Row{Name: m.Name})
	}
	if providerAt(s.BaseURL) == nil && len(rows) > 0 {
		s.surveyLocal(ctx, rows, list)
	}
	for i := range rows {
		rows[i].addList(list[i:i+1], rows[i].Name)
		rows[i].addTable(s, rows[i].Name)
	}
	return rows, nil
}

// Row is one model of a [Survey].
type Row struct {
	Name string
	Found
}

// surveyLocal asks a local server about its models. The answer about the first
// one shows which program it is.
func (s *Server) surveyLocal(ctx context.Context, rows []Row, list []Listed) {
	first := &rows[0]
	s.askLocal(ctx, &first.Found, list, first.Name)
	if first.Server != ServerOllama {
		for i := range rows[1:] {
			rows[i+1].Server, rows[i+1].JSONSchema = first.Server, first.JSONSchema
		}
		return
	}
	var some errgroup.Group
	some.SetLimit(4)
	for i := range rows[1:min(len(rows), maxSurveyed)] {
		some.Go(func() error {
			s.askOllama(ctx, &rows[i+1].Found, rows[i+1].Name)
			return nil
		})
	}
	_ = some.Wait() // a failure only leaves a model unknown
}
