package main

import (
	"cmp"
	"fmt"

	"dragoman/internal/api"
)

// usageCmd is "dragoman usage": what turns have used.
type usageCmd struct {
	By    string `default:"day" enum:"day,model,person,chat,budget" help:"What the lines are: day, model, person or chat; or the budgets of limits.budgets as they are now."`
	From  string `placeholder:"DAY" help:"The first day, like 2026-11-01. Default: thirty days."`
	To    string `placeholder:"DAY" help:"The last day. Default: today."`
	Limit int    `short:"n" default:"20" help:"How many lines at most; the rest is one line."`
	Days  bool   `help:"With --json: also what was used on each day."`
	jsonFlag
}

func (*usageCmd) Help() string {
	return `What turns used is counted when they end, by the days of agent.time_zone. A turn that failed or was stopped counts as far as the model had answered, and a summary counts for whoever caused it. Not counted is what was used before Dragoman counted. The sums of a person or a chat are erased with them. Days that are more than three months old are one sum a month.`
}

func (k *usageCmd) Run(e *env, c *cli) error {
	if k.By == "budget" {
		return listPage(e, c, k.JSON, api.ListBudgets, api.BudgetQuery{Limit: k.Limit}, func(p api.Page[api.Budget]) { e.budgets(p.Data) })
	}
	q := api.UsageBy{By: k.By, From: k.From, To: k.To, Limit: k.Limit, Days: k.Days}
	return list(e, c, k.JSON, api.ReadUsage, q, func(r api.UsageReport) { e.usage(k.By, r) })
}

func (e *env) usage(by string, r api.UsageReport) {
	if len(r.Rows) == 0 {
		e.say("Nothing was used from %s to %s.", r.From, r.To)
		return
	}
	t := &table{head: []string{map[string]string{"day": "DAY", "model": "MODEL", "person": "PERSON", "chat": "KEY"}[by], "TURNS", "INPUT", "CACHED", "OUTPUT", "TOOLS"}, right: []int{1, 2, 3, 4, 5}, less: []int{3, 5}}
	if r.Total.Cost > 0 {
		t.head, t.right = append(t.head, "COST"), append(t.right, 6)
	}
	add := func(name string, u api.Used) {
		cells := []string{oneLine(name), grouped(u.Turns), grouped(u.Input), grouped(u.Cached), grouped(u.Output), grouped(u.ToolCalls)}
		if r.Total.Cost > 0 {
			cells = append(cells, fmt.Sprintf("%.4f", u.Cost))
		}
		t.add(cells...)
	}
	for _, row := range r.Rows {
		add(row.Name, row.Used)
	}
	if r.Others != nil {
		add("others", *r.Others)
	}
	add("total", r.Total)
	t.print(e)
	zone := r.Zone
	if zone == "Local" { // its name is not known
		zone = "the time zone of the machine"
	}
	e.say("\nDays are those of %s. It is counted since %s.", zone, cmp.Or(r.Since, r.From))
	if r.Total.Cost == 0 && r.Total.Input > 0 {
		e.say("The cost is unknown, because no prices are configured (model.prices).")
	}
}

func (e *env) budgets(list []api.Budget) {
	if len(list) == 0 {
		e.say("Nothing was used of a budget. Budgets are set by limits.budgets.")
		return
	}
	t := &table{head: []string{"OF", "NAME", "IN A", "LIMIT", "USED", "RESERVED", "SHARE", "ANEW"}, right: []int{3, 4, 5, 6}, less: []int{5}}
	for _, b := range list {
		amount := func(n float64) string {
			if b.Unit == "tokens" {
				return grouped(int(n))
			}
			return fmt.Sprintf("%.2f", n)
		}
		t.add(b.Of, oneLine(b.Name), b.Period, amount(b.Limit), amount(b.Used), amount(b.Reserved), fmt.Sprintf("%.0f %%", 100*b.Share), b.Until.Format("2006-01-02 15:04"))
	}
	t.print(e)
	if list[0].Unit == "tokens" {
		e.say("\nLimits are in tokens.")
	}
}
