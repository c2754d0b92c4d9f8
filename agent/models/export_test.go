package models

import "context"

// ChooseAt is Choose with other addresses of providers, by their ids.
func ChooseAt(ctx context.Context, o ChooseOptions, bases map[string]string) (Choice, error) {
	o.bases = bases
	return Choose(ctx, o)
}

// TableRow is one row for tests that look at all of them.
type TableRow struct {
	Names, Maker, Shutdown string
	Window, Rank           int
}

// Rows are all rows.
func Rows() (rows []TableRow) {
	for _, r := range table {
		rows = append(rows, TableRow{r.names, r.maker, r.shutdown, r.window, r.rank})
	}
	return rows
}

// BaseOf is the address of a provider.
func BaseOf(id string) string {
	if p := providerByID(id); p != nil {
		return p.base
	}
	return ""
}
