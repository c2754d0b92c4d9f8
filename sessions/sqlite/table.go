package sqlite

import (
	"encoding/json"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Each table has one list of pointers to fields, in the order of its columns. Rows are
// scanned into it and written from it. A field whose column has another form is wrapped
// in one of the types below.

// timeColumn is a time as Unix nanoseconds, 0 for none.
type timeColumn time.Time

func asTime(t *time.Time) *timeColumn { return (*timeColumn)(t) }

func (c *timeColumn) Scan(v any) error {
	n, _ := v.(int64)
	*c = timeColumn(timeOf(n))
	return nil
}

// column converts a field with functions. A nil read skips the column.
type column struct {
	write func() any
	read  func(v any) error
}

func (c column) Scan(v any) error {
	if c.read == nil {
		return nil
	}
	return c.read(v)
}

// asKey reads a key from its name. An empty name leaves k unchanged.
func asKey(k *channels.Key) column {
	return column{read: func(v any) (err error) {
		if name, _ := v.(string); name != "" {
			if *k, err = channels.ParseKey(name); err != nil {
				err = damaged("a conversation has no valid name (%v)", err)
			}
		}
		return err
	}}
}

// asRowID is a row id, made of the id of a key and a seq.
type asRowID struct{ key, seq *int64 }

func (c asRowID) Scan(v any) error {
	id, _ := v.(int64)
	*c.key, *c.seq = id>>32, seqOf(id)
	return nil
}

// asSettings is JSON, or empty.
func asSettings(s *sessions.Settings) column {
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

// asJSON is cleaned JSON, or empty.
func asJSON(raw *json.RawMessage) column {
	return column{
		write: func() any { return string(*raw) },
		read: func(v any) error {
			text, _ := v.(string)
			*raw = rules.JSON([]byte(text))
			return nil
		},
	}
}

// asMarks is JSON, or empty for none.
func asMarks(m *sessions.FactMarks) column {
	return column{
		write: func() any {
			if *m == (sessions.FactMarks{}) {
				return ""
			}
			return string(encode(m))
		},
		read: func(v any) error {
			text, _ := v.(string)
			if text == "" {
				return nil
			}
			return decode([]byte(text), m)
		},
	}
}

// asOrigins is JSON, or empty for none.
func asOrigins(list *[]sessions.Origin) column {
	return column{
		write: func() any {
			if len(*list) == 0 {
				return ""
			}
			return string(encode(*list))
		},
		read: func(v any) error {
			text, _ := v.(string)
			if text == "" {
				return nil
			}
			return decode([]byte(text), list)
		},
	}
}

// asOwners is JSON, or empty for nil.
func asOwners(owners *[]sessions.Owner) column {
	return column{
		write: func() any {
			if *owners == nil {
				return ""
			}
			return string(encode(*owners))
		},
		read: func(v any) error {
			if text, _ := v.(string); text != "" {
				return decode([]byte(text), owners)
			}
			return nil
		},
	}
}

// columnValues replaces pointers to fields by the values of their columns, in place.
// Reflection in database/sql could do it, and costs a few percent of a turn.
func columnValues(args []any) {
	for i, a := range args {
		switch p := a.(type) {
		case *string:
			args[i] = *p
		case *sessions.DeliveryState:
			args[i] = string(*p)
		case *channels.Kind:
			args[i] = string(*p)
		case *channels.Form:
			args[i] = string(*p)
		case *sessions.Source:
			args[i] = string(*p)
		case *[]byte:
			args[i] = *p
		case *int64:
			args[i] = *p
		case *int:
			args[i] = int64(*p)
		case *bool:
			args[i] = *p
		case asRowID:
			args[i] = rowID(*p.key, *p.seq)
		case *timeColumn:
			args[i] = nanos(time.Time(*p))
		case column:
			args[i] = p.write()
		}
	}
}

// split cuts a list of column names.
func split(columns string) []string { return strings.Split(columns, ", ") }

// insert is the statement that adds a row.
func insert(table, columns string) string {
	return `INSERT INTO ` + table + ` (` + columns + `) VALUES (?` + strings.Repeat(`, ?`, len(split(columns))-1) + `)`
}

// upsert is the statement that adds a row, or sets the replaced columns of the row with
// the same key.
func upsert(table, columns, key, replaced string) string {
	var set []string
	for _, c := range split(replaced) {
		set = append(set, c+` = excluded.`+c)
	}
	return insert(table, columns) + ` ON CONFLICT (` + key + `) DO UPDATE SET ` + strings.Join(set, `, `)
}
