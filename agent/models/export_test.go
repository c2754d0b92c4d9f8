package models

import "context"

// ChooseAt is Choose with other base URLs for providers, by provider id.
func ChooseAt(ctx context.Context, o ChooseOptions, bases map[string]string) (Choice, error) {
	o.bases = bases
	return Choose(ctx, o)
}

// TableRow is a row of the table.
type TableRow struct {
	Names, Maker, Shutdown string
	Window, Rank           int
}

// Rows returns all rows.
func Rows() (rows []TableRow) {
	for _, r := range table {
		rows = append(rows, TableRow{r.names, r.maker, r.shutdown, r.window, r.rank})
	}
	return rows
}

// BaseOf returns the base URL of a provider.
func BaseOf(id string) string {
	if p := providerByID(id); p != nil {
		return p.base
	}
	return ""
}
