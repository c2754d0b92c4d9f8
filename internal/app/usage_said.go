package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/budget"
	"dragoman/internal/people"
	"dragoman/internal/usage"
	"dragoman/sessions"
)

// maxSpenders is how many people /usage names to whoever runs Dragoman.
const maxSpenders = 5

// saidUsage answers the command /usage of m: what its author used, in a shared chat what the
// chat used, and to whoever runs Dragoman, in private, what all have.
func (d *Daemon) saidUsage(ctx context.Context, m channels.Inbound) (string, error) {
	now := time.Now().In(d.zone)
	t := admission.Turn{Key: m.Key, Private: m.Private, At: now}
	var lines []string
	if id := m.Sender.ID(); id != "" {
		t.Owner = people.Identity(m.Key.Channel(), id)
		owners, err := d.people.Owners(ctx, t.Owner)
		if err != nil {
			return "", err
		}
		line, err := d.usageLine(ctx, "You", usage.Query{Owners: owners}, now)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	if !m.Private {
		line, err := d.usageLine(ctx, "This chat", usage.Query{Owners: []string{sessions.ChatScope(m.Key)}}, now)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	left, err := d.budgetsOf(ctx, t)
	if err != nil {
		return "", err
	}
	operator, err := d.people.IsOperator(ctx, m)
	if err != nil {
		return "", err
	}
	operator = operator && m.Private
	for _, b := range left {
		if operator || b.Scope != "all" {
			lines = append(lines, "Left: "+b.Left+".")
		}
	}
	if operator {
		all, err := d.usageOfAll(ctx, now)
		if err != nil {
			return "", err
		}
		lines = append(lines, all...)
	}
	return strings.Join(lines, "\n"), nil
}

// usageOfAll are the lines about everybody.
func (d *Daemon) usageOfAll(ctx context.Context, now time.Time) ([]string, error) {
	line, err := d.usageLine(ctx, "Everybody", usage.Query{}, now)
	if err != nil {
		return nil, err
	}
	lines := []string{line}
	from, to := monthOf(now)
	r, err := usage.Read(ctx, d.store, usage.Query{By: usage.ByPerson, From: from, To: to, Person: d.people.Person, Limit: maxSpenders})
	if err != nil {
		return nil, err
	}
	for _, row := range r.Rows {
		who := row.Name
		if name := d.nameOfPerson(ctx, row.Name); name != "" {
			who = fmt.Sprintf("%s (%s)", name, row.Name)
		}
		lines = append(lines, fmt.Sprintf("- %s: %s this month", who, spent(row.Used)))
	}
	return lines, nil
}

// usageLine says what was used today and this month.
func (d *Daemon) usageLine(ctx context.Context, who string, q usage.Query, now time.Time) (string, error) {
	q.By = usage.ByDay
	q.From, q.To = monthOf(now)
	r, err := usage.Read(ctx, d.store, q)
	if err != nil {
		return "", err
	}
	var today usage.Used
	at := slices.IndexFunc(r.Rows, func(row usage.Row) bool { return row.Name == q.To })
	if at >= 0 {
		today = r.Rows[at].Used
	}
	return fmt.Sprintf("%s: %s today, %s this month.", who, spent(today), spent(r.Total)), nil
}

// monthOf are the first day of the month of now, and its own.
func monthOf(now time.Time) (from, to string) {
	return now.Format("2006-01") + "-01", now.Format(time.DateOnly)
}

// spent is what was used, in words.
func spent(u usage.Used) string {
	text := budget.Grouped(int64(u.Input+u.Output)) + " tokens"
	if u.Cost > 0 {
		text += fmt.Sprintf(" (%.2f)", u.Cost)
	}
	return text
}
