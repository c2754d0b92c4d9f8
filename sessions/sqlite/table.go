package sqlite

import (
	"database/sql/driver"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// The fields of a row are written in the order of its columns, once: as pointers,
// into which the columns are read and from which they are written. Fields that
// do not stand in their columns as they are have one of the types below.

// moment is a time in a column: Unix nanoseconds, 0 for none.
type moment time.Time

func at(t *time.Time) *moment { return (*moment)(t) }

// Scan is sql.Scanner's.
func (m *moment) Scan(v any) error {
	n, _ := v.(int64)
	*m = moment(timeOf(n))
	return nil
}

// Value is driver.Valuer's.
func (m *moment) Value() (driver.Value, error) { return nanos(time.Time(*m)), nil }

// column is a field with a way of its own to be read and written. Without one of
// them it is not.
type column struct {
	write func() any
	read  func(v any) error
}

// Scan is sql.Scanner's.
func (c column) Scan(v any) error {
	if c.read == nil {
		return nil
	}
	return c.read(v)
}

// Value is driver.Valuer's.
func (c column) Value() (driver.Value, error) { return c.write(), nil }

// named is a key by its name. An empty one leaves it as it is.
func named(k *channels.Key) column {
	return column{read: func(v any) error {
		if name, _ := v.(string); name != "" {
			return parseKey(k, name)
		}
		return nil
	}}
}

// place is the id of a row, which is made of the id of its key and a seq.
type place struct{ key, seq *int64 }

// Scan is sql.Scanner's.
func (p place) Scan(v any) error {
	id, _ := v.(int64)
	*p.key, *p.seq = id>>32, seqOf(id)
	return nil
}

// settings are JSON, or nothing.
func settings(s *sessions.Settings) column {
	return column{
		write: func() any {
			if rules.IsZeroSettings(*s) {
				return ""
			}
			return string(encode(s))
		},
		read: func(v any) error {
			if text, _ := v.(string); text != "" {
				return decode([]byte(text), s)
			}
			return nil
		},
	}
}

// plain replaces fields by what they are in their columns. The driver would do
// it as well, with reflection, which costs a few percent of a turn.
func plain(args []any) {
	for i, a := range args {
		switch p := a.(type) {
		case *string:
			args[i] = *p
		case *sessions.DeliveryState:
			args[i] = string(*p)
		case *sessions.Origin:
			args[i] = string(*p)
		case *[]byte:
			args[i] = *p
		case *int64:
			args[i] = *p
		case *int:
			args[i] = int64(*p)
		case *bool:
			args[i] = *p
		case place:
			args[i] = rowID(*p.key, *p.seq)
		case *moment:
			args[i] = nanos(time.Time(*p))
		case column:
			args[i] = p.write()
		}
	}
}

// split are the names of columns.
func split(columns string) []string { return strings.Split(columns, ", ") }

// insert puts a row into a table.
func insert(table, columns string) string {
	return `INSERT INTO ` + table + ` (` + columns + `) VALUES (?` + strings.Repeat(`, ?`, len(split(columns))-1) + `)`
}

// upsert puts a row into a table, or some columns of it in the place of those
// of the row with the same key.
func upsert(table, columns, key, replaced string) string {
	var set []string
	for _, c := range split(replaced) {
		set = append(set, c+` = excluded.`+c)
	}
	return insert(table, columns) + ` ON CONFLICT (` + key + `) DO UPDATE SET ` + strings.Join(set, `, `)
}
