package heartbeat

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
)

// What to do with occurrences that came due while nothing could fire them.
const (
	CatchUpOnce = "once" // the newest one is fired late, older ones are recorded as missed; the default
	CatchUpSkip = "skip" // all of them are recorded as missed
)

// Job is a prompt that runs by the clock. Either Every or Cron says when.
type Job struct {
	// Name is the job's identity in the records: 1 to 64 characters without spaces.
	Name  string
	Every time.Duration // whole seconds
	// Cron has five fields (minute hour day month weekday) or is a descriptor
	// like @daily.
	Cron string
	// TimeZone is an IANA name for Cron and ActiveHours. Empty: Options.Zone.
	TimeZone string
	// ActiveHours, like "08:00-22:00", are the part of the day in which the job
	// may run; they may cross midnight. Empty: always.
	ActiveHours string
	// Target is the conversation that gets the answer.
	Target channels.Key
	// Prompt is what the model is asked. With PromptFile the file's text follows it.
	Prompt string
	// PromptFile is read when the job is due. If it has only headings, comments
	// and blank lines, the occurrence is skipped.
	PromptFile string
	// CatchUp is CatchUpOnce (the default) or CatchUpSkip.
	CatchUp string
}

// channelName is the first part of the keys of jobs. No channel has that name.
const channelName = "heartbeat"

// compiledJob is a job whose texts were parsed. Jobs are only compiled when a
// scheduler is made, so all of a scheduler's jobs are valid.
type compiledJob struct {
	job    Job
	key    channels.Key // its turns run under this key
	times  timetable
	active activeHours
}

// Validate returns everything that is wrong with j, joined, each in its own
// sentence; nil if j is valid.
func Validate(j Job) error {
	_, err := compile(j, time.UTC)
	return err
}

// compile checks j and makes it ready to run. zone is for jobs that name none.
func compile(j Job, zone *time.Location) (*compiledJob, error) {
	e := &compiledJob{job: j}
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	var err error
	if e.key, err = channels.NewKey(channelName, j.Name); err != nil || utf8.RuneCountInString(j.Name) > 64 || strings.ContainsFunc(j.Name, unicode.IsSpace) {
		wrong("the name is %.80q; write 1 to 64 characters without spaces", j.Name)
	}
	if j.TimeZone != "" {
		if zone, err = time.LoadLocation(j.TimeZone); err != nil || j.TimeZone == "Local" {
			wrong("there is no time zone %.60q: want an IANA name like Europe/Rome or UTC", j.TimeZone)
			zone = time.UTC // the rest can still be checked
		}
	}
	if e.active, err = parseActiveHours(j.ActiveHours, zone); err != nil {
		problems = append(problems, err)
		e.active, _ = parseActiveHours("", zone)
	}
	if e.times, err = e.timetable(zone); err != nil {
		problems = append(problems, err)
	}
	switch {
	case j.Target.IsZero():
		wrong("the target is missing: want a conversation, like telegram:123456789")
	case j.Target.Channel() == channelName:
		wrong("the target %s is a job: want a conversation, like telegram:123456789", j.Target)
	}
	if strings.TrimSpace(j.Prompt) == "" && j.PromptFile == "" {
		wrong("the prompt is empty; write what the model should do")
	}
	if j.CatchUp != "" && j.CatchUp != CatchUpOnce && j.CatchUp != CatchUpSkip {
		wrong("catch_up %.40q: want once or skip", j.CatchUp)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return e, nil
}

// timetable reads the schedule and checks that the job is ever due.
func (e *compiledJob) timetable(zone *time.Location) (timetable, error) {
	j := e.job
	switch {
	case j.Every != 0 && j.Cron != "":
		return nil, errors.New(`both every and cron say when; write one of them, like every: 2h or cron: "0 8 * * *"`)
	case j.Every == 0 && j.Cron == "":
		return nil, errors.New(`nothing says when; write every: 2h or cron: "0 8 * * *"`)
	case j.Cron == "" && (j.Every < time.Second || j.Every%time.Second != 0):
		return nil, fmt.Errorf("every %s: want whole seconds, at least one", j.Every)
	case j.Cron == "":
		return interval(j.Every), nil
	}
	c, err := parseCron(j.Cron, zone)
	if err != nil {
		return nil, fmt.Errorf("cron %.80q: %w", j.Cron, err)
	}
	due := c.next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if due.IsZero() {
		return nil, fmt.Errorf("cron %.80q: %w", j.Cron, errNever)
	}
	for range 2000 { // more than a day of minutes
		if e.active.contain(due) {
			return c, nil
		}
		due = c.next(due)
		if due.IsZero() {
			break
		}
	}
	return nil, fmt.Errorf("cron %.80q is never due in the active hours %s", j.Cron, e.active.text)
}
