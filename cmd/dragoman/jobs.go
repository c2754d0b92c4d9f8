package main

import (
	"context"
	"errors"
	"fmt"

	"dragoman/internal/api"
	"dragoman/sessions"
)

// jobsCmd is "dragoman jobs": the scheduled heartbeats.
type jobsCmd struct {
	List jobsListCmd `cmd:"" default:"withargs" help:"List the jobs with their next time and last outcome."`
	Log  jobsLogCmd  `cmd:"" help:"List past runs and their outcomes, newest first."`
	Run  jobsRunCmd  `cmd:"" help:"Run a job now; its schedule does not change."`
}

// jobsListCmd is "dragoman jobs list", and "dragoman jobs" alone.
type jobsListCmd struct {
	jsonFlag
}

func (k *jobsListCmd) Run(e *env, c *cli) error {
	part := func(after string, limit int) api.JobQuery { return api.JobQuery{After: after, Limit: limit} }
	return listAll(e, c, k.JSON, api.ListJobs, 0, part, func(jobs api.Page[api.Job]) {
		if len(jobs.Data) == 0 {
			e.say("No reminders and no jobs. People ask for reminders by talking, like \"remind me tomorrow at nine to call Ann\".")
			e.say("Add jobs under heartbeat.jobs in the configuration, or set heartbeat.target and write HEARTBEAT.md in the workspace.")
			return
		}
		t := &table{head: []string{"NAME", "SCHEDULE", "TARGET", "NEXT", "LAST", "OUTCOME"}, less: []int{2, 4}}
		for _, j := range jobs.Data {
			last, outcome := "-", "-"
			if j.Last != nil {
				last, outcome = e.when(j.Last.Due), outcomeText(*j.Last)
			}
			if j.Paused != "" {
				outcome = "paused: " + j.Paused
			}
			t.add(j.Name, j.Schedule, j.Target, e.when(j.Next), last, outcome)
		}
		t.print(e)
	})
}

// jobsLogCmd is "dragoman jobs log": what became of each due time, also of those
// that were skipped or missed.
type jobsLogCmd struct {
	Name  string `arg:"" optional:"" help:"Only this job."`
	Limit int    `default:"50" help:"How many (${default})."`
	jsonFlag
}

func (k *jobsLogCmd) Run(e *env, c *cli) error {
	if k.Limit < 1 {
		return &usageError{"--limit wants 1 or more"}
	}
	page := func(after string, limit int) api.JobLimited {
		return api.JobLimited{Job: k.Name, After: after, Limit: limit}
	}
	return listAll(e, c, k.JSON, api.ListOccurrences, k.Limit, page, func(all api.Page[api.Occurrence]) {
		if len(all.Data) == 0 {
			e.say("Nothing was due yet.")
			return
		}
		t := &table{head: []string{"DUE", "JOB", "OUTCOME"}}
		for _, o := range all.Data {
			t.add(o.Due.Local().Format("2006-01-02 15:04:05"), o.Job, outcomeText(o))
		}
		t.print(e)
	})
}

func outcomeText(o api.Occurrence) string {
	if o.Why == "" {
		return o.Outcome
	}
	return o.Outcome + ": " + o.Why
}

// jobsRunCmd is "dragoman jobs run": it asks the daemon to run a job now, to try
// it.
type jobsRunCmd struct {
	Name string `arg:"" help:"The job (see dragoman jobs list)."`
}

func (k *jobsRunCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		err := api.RunJob.Call(ctx, a, api.JobName{Name: k.Name})
		if errors.Is(err, sessions.ErrNotFound) {
			return fmt.Errorf("there is no job %s; %s shows all", oneLine(k.Name), e.command("jobs list"))
		}
		if errors.Is(err, api.ErrNoDaemon) {
			return fmt.Errorf("%w: start it with %s", err, e.startHint(c))
		}
		if err != nil {
			return err
		}
		e.say("%s was started; see the result with %s.", oneLine(k.Name), e.command("jobs log", k.Name))
		return nil
	})
}
