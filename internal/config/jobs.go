package config

import (
	"dragoman/channels"
	"dragoman/heartbeat"
)

// Heartbeat has the scheduled jobs.
type Heartbeat struct {
	Target      string   `yaml:"target,omitempty" doc:"The conversation that receives the result of HEARTBEAT.md (a file in the workspace). Empty: the file is not run."`
	Every       Duration `yaml:"every" default:"30m" range:"1m..8784h" is:"whole seconds" doc:"How often HEARTBEAT.md is run."`
	TimeZone    string   `yaml:"time_zone,omitempty" is:"zone" empty:"ok" doc:"Time zone of HEARTBEAT.md and of jobs that name none. Empty: agent.time_zone."`
	ActiveHours string   `yaml:"active_hours,omitempty" doc:"HEARTBEAT.md runs only within these hours. Empty: always."`
	Jobs        []Job    `yaml:"jobs"`
}

// Job is one scheduled prompt.
type Job struct {
	Name        string   `yaml:"name,omitempty" once:"yes" doc:"The job's name, unique, 1 to 64 characters."`
	Every       Duration `yaml:"every,omitempty" range:"1m..8784h" is:"whole seconds" doc:"Run at this interval. Set either every or cron."`
	Cron        string   `yaml:"cron,omitempty" doc:"Run at these times: minute hour day month weekday."`
	TimeZone    string   `yaml:"time_zone,omitempty" is:"zone" empty:"ok" doc:"Time zone of cron and active_hours."`
	ActiveHours string   `yaml:"active_hours,omitempty" doc:"Outside of these hours the job is skipped."`
	Target      string   `yaml:"target,omitempty" doc:"The conversation that receives the result."`
	Prompt      string   `yaml:"prompt,omitempty" doc:"The prompt for the model. If the model answers HEARTBEAT_OK alone, nothing is sent."`
	Agent       string   `yaml:"agent,omitempty" doc:"The persona that runs it. Unset: that of its target."`
	CatchUp     string   `yaml:"catch_up" default:"once" oneof:"once skip" doc:"What happens to runs missed while the daemon was down: once runs the newest one late, skip only records them as missed."`
}

// FileJob is the job that runs HEARTBEAT.md, and whether it is configured. Its
// prompt is the content of the file when it runs.
func (h Heartbeat) FileJob() (Job, bool) {
	return Job{
		Name: FileJobName, Every: h.Every, TimeZone: h.TimeZone, ActiveHours: h.ActiveHours, Target: h.Target,
	}, h.Target != ""
}

// FileJobName is the name of the job that runs HEARTBEAT.md, and of that file in
// the workspace. Jobs in the configuration may not take it.
const FileJobName = "HEARTBEAT.md"

// Scheduled converts the job for the scheduler. Load has checked that the target is
// a key.
func (j Job) Scheduled() heartbeat.Job {
	target, _ := channels.ParseKey(j.Target)
	s := heartbeat.Job{
		Name: j.Name, Every: j.Every.D(), Cron: j.Cron, TimeZone: j.TimeZone, ActiveHours: j.ActiveHours,
		Target: target, Prompt: j.Prompt, CatchUp: j.CatchUp,
	}
	if j.Name == FileJobName {
		s.PromptFile = FileJobName
		s.Prompt = "This is what the person wants you to look after. Do what is due now."
	}
	return s
}
