package heartbeat_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/internal/testkit"
	"dragoman/sessions/sqlite/sqlitetest"
)

var _ heartbeat.Ledger = (*sqlitetest.Store)(nil)

func cronJob(cron, zone string) heartbeat.Job {
	return heartbeat.Job{Name: "j", Cron: cron, TimeZone: zone, Target: channels.MustKey("telegram:7"), Prompt: "p"}
}

func in(t testing.TB, zone string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCronAcrossChangesOfTheClocks(t *testing.T) {
	for _, test := range []struct {
		name, cron, zone, from string
		want                   string // the next due times with their offsets
	}{
		{"every day at eight", "0 8 * * *", "Europe/Rome", "2026-03-27T12:00:00+01:00", "2026-03-28T08:00:00+01:00 2026-03-29T08:00:00+02:00 2026-03-30T08:00:00+02:00"},
		{"at a time that does not exist", "30 2 * * *", "Europe/Rome", "2026-03-28T00:00:00+01:00", "2026-03-28T02:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00"},
		{"at a time that appears twice", "30 2 * * *", "Europe/Rome", "2026-10-24T12:00:00+02:00", "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00"},
		{"seen from the second time round", "30 2 * * *", "Europe/Rome", "2026-10-25T02:10:00+01:00", "2026-10-26T02:30:00+01:00"},
		{"several times in the gap are one", "0,20,40 1-3 * * *", "Europe/Rome", "2026-03-29T01:30:00+01:00", "2026-03-29T01:40:00+01:00 2026-03-29T03:00:00+02:00 2026-03-29T03:20:00+02:00"},
		{"every half hour over the gap", "*/30 * * * *", "Europe/Rome", "2026-03-29T01:10:00+01:00", "2026-03-29T01:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-29T03:30:00+02:00"},
		{"every half hour over the overlap", "*/30 * * * *", "Europe/Rome", "2026-10-25T02:10:00+02:00", "2026-10-25T02:30:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T02:30:00+01:00 2026-10-25T03:00:00+01:00"},
		{"hourly", "@hourly", "America/New_York", "2026-11-01T00:30:00-04:00", "2026-11-01T01:00:00-04:00 2026-11-01T01:00:00-05:00 2026-11-01T02:00:00-05:00"},
		{"every two hours", "0 */2 * * *", "America/New_York", "2026-03-08T00:30:00-05:00", "2026-03-08T03:00:00-04:00 2026-03-08T04:00:00-04:00"},
		{"midnight does not exist", "@daily", "Africa/Cairo", "2026-04-23T12:00:00+02:00", "2026-04-24T01:00:00+03:00 2026-04-25T00:00:00+03:00"},
		{"midnight does not exist, each hour of a weekday", "0 * * * 5", "Africa/Cairo", "2026-04-23T12:00:00+02:00", "2026-04-24T01:00:00+03:00 2026-04-24T02:00:00+03:00"},
		{"midnight appears twice", "0 0 * * *", "America/Havana", "2026-10-31T12:00:00-04:00", "2026-11-01T00:00:00-04:00 2026-11-02T00:00:00-05:00"},
		{"half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", "2026-10-04T02:30:00+11:00 2026-10-05T02:15:00+11:00"},
		{"half an hour, hourly", "0 * * * *", "Australia/Lord_Howe", "2026-10-04T01:30:00+10:30", "2026-10-04T03:00:00+11:00 2026-10-04T04:00:00+11:00"},
		{"a day that does not exist", "0 9 * * *", "Pacific/Apia", "2011-12-29T08:00:00-10:00", "2011-12-29T09:00:00-10:00 2011-12-31T00:00:00+14:00 2011-12-31T09:00:00+14:00"},
		{"45 minutes off", "0 6 * * 1-5", "Asia/Kathmandu", "2026-11-20T12:00:00+05:45", "2026-11-23T06:00:00+05:45"},
		{"leap day", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, test.from)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for range strings.Fields(test.want) {
				if at, err = heartbeat.Next(cronJob(test.cron, test.zone), at); err != nil {
					t.Fatal(err)
				}
				got = append(got, at.In(in(t, test.zone)).Format(time.RFC3339))
			}
			if joined := strings.Join(got, " "); joined != test.want {
				t.Errorf("due\n%s\nwant\n%s", joined, test.want)
			}
		})
	}
}

// TestNextMinuteByMinute walks over some days around changes of the clocks: the
// next due time must not depend on how long before it one asks.
func TestNextMinuteByMinute(t *testing.T) {
	for _, zone := range []string{"Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana", "UTC"} {
		loc := in(t, zone)
		for _, cron := range []string{"*/7 * * * *", "0 8 * * *", "30 2 * * *", "0 0 * * 0", "15 */3 * * *", "59 23 * * *"} {
			job := cronJob(cron, zone)
			for _, day := range []time.Time{time.Date(2026, 3, 7, 0, 0, 0, 0, loc), time.Date(2026, 3, 28, 0, 0, 0, 0, loc), time.Date(2026, 10, 31, 0, 0, 0, 0, loc)} {
				for at := day; at.Before(day.AddDate(0, 0, 2)); at = at.Add(11 * time.Minute) {
					next, err := heartbeat.Next(job, at)
					if err != nil {
						t.Fatal(err)
					}
					same, err := heartbeat.Next(job, next.Add(-time.Nanosecond))
					if err != nil || !next.After(at) || !same.Equal(next) {
						t.Fatalf("%s in %s: after %s comes %s, and just before that %s (%v)", cron, zone, at, next, same, err)
					}
				}
			}
		}
	}
}

func TestLastSkipsAheadExactly(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	jobs := []heartbeat.Job{cronJob("*/5 * * * *", "Europe/Rome"), cronJob("0 8 * * 1", "UTC"), cronJob("* 3 1 1 *", "Asia/Tokyo"), {Name: "j", Every: 7 * time.Minute, Target: channels.MustKey("telegram:7"), Prompt: "p"}}
	for _, job := range jobs {
		for range 40 {
			due, err := heartbeat.Next(job, start.Add(time.Duration(random.Int64N(int64(48*time.Hour)))))
			if err != nil {
				t.Fatal(err)
			}
			now := due.Add(time.Duration(random.Int64N(int64(100 * 24 * time.Hour))))
			newest, count, err := heartbeat.Last(job, due, now)
			after, _ := heartbeat.Next(job, newest)
			if err != nil || newest.After(now) || newest.Before(due) || !after.After(now) || count < 1 {
				t.Errorf("%+v: from %s to %s: newest %s, the next %s, count %d (%v)", job, due, now, newest, after, count, err)
			}
		}
	}
	for _, test := range []struct {
		every time.Duration
		late  time.Duration
		count int
	}{{time.Minute, 0, 1}, {time.Minute, 59 * time.Second, 1}, {time.Minute, time.Minute, 2}, {time.Hour, 10*time.Hour + 1, 11}, {time.Second, 200 * 365 * 24 * time.Hour, 1000}} {
		job := heartbeat.Job{Name: "j", Every: test.every, Target: channels.MustKey("telegram:7"), Prompt: "p"}
		newest, count, err := heartbeat.Last(job, start, start.Add(test.late))
		if err != nil || count != test.count || !newest.Equal(start.Add(test.late.Truncate(test.every))) {
			t.Errorf("every %s, %s late: %s, %d (%v), want %d", test.every, test.late, newest, count, err, test.count)
		}
	}
}

// TestYearsOfMinutesTakeNoTime has a clock that jumps ahead by ten years.
func TestYearsOfMinutesTakeNoTime(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	took := testkit.Within(2*time.Second, func() {
		newest, count, err := heartbeat.Last(cronJob("* * * * *", "Europe/Rome"), start, start.AddDate(10, 0, 0).Add(30*time.Second))
		if err != nil || count != 1000 || !newest.Equal(start.AddDate(10, 0, 0)) {
			t.Errorf("Last = %s, %d, %v", newest, count, err)
		}
	})
	if took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestValidate(t *testing.T) {
	good := heartbeat.Job{Name: "morning", Cron: "0 8 * * *", TimeZone: "Europe/Rome", ActiveHours: "07:00-22:00", Target: channels.MustKey("telegram:7"), Prompt: "What is on?"}
	for name, test := range map[string]struct {
		change func(*heartbeat.Job)
		want   []string // none: fine
	}{
		"good":     {func(*heartbeat.Job) {}, nil},
		"interval": {func(j *heartbeat.Job) { j.Cron, j.Every = "", 30*time.Minute }, nil},
		"file": {func(j *heartbeat.Job) {
			j.Prompt = ""
			j.PromptFile = "HEARTBEAT.md"
			j.Name = "HEARTBEAT.md"
		}, nil},
		"over midnight":      {func(j *heartbeat.Job) { j.ActiveHours = "22:00 - 09:00" }, nil},
		"to midnight":        {func(j *heartbeat.Job) { j.ActiveHours = "00:00-24:00" }, nil},
		"no name":            {func(j *heartbeat.Job) { j.Name = "" }, []string{"the name"}},
		"space in the name":  {func(j *heartbeat.Job) { j.Name = "a b" }, []string{"the name"}},
		"both":               {func(j *heartbeat.Job) { j.Every = time.Hour }, []string{"both every and cron"}},
		"neither":            {func(j *heartbeat.Job) { j.Cron = "" }, []string{"nothing says when"}},
		"negative":           {func(j *heartbeat.Job) { j.Cron, j.Every = "", -time.Hour }, []string{"whole seconds"}},
		"fraction":           {func(j *heartbeat.Job) { j.Cron, j.Every = "", 1500*time.Millisecond }, []string{"whole seconds"}},
		"six fields":         {func(j *heartbeat.Job) { j.Cron = "0 0 8 * * *" }, []string{"want minute hour day month weekday"}},
		"weekday 8":          {func(j *heartbeat.Job) { j.Cron = "0 8 * * 8" }, []string{"Sunday is 0 or 7"}},
		"@every":             {func(j *heartbeat.Job) { j.Cron = "@every 1h" }, []string{`write an interval as "every"`}},
		"zone in cron":       {func(j *heartbeat.Job) { j.Cron = "CRON_TZ=UTC 0 8 * * *" }, []string{"write the time zone as time_zone"}},
		"no such day":        {func(j *heartbeat.Job) { j.Cron = "0 8 30 2 *" }, []string{"no such day"}},
		"never active":       {func(j *heartbeat.Job) { j.Cron = "0 3 * * *" }, []string{"never due in the active hours 07:00-22:00"}},
		"hours":              {func(j *heartbeat.Job) { j.ActiveHours = "8-22" }, []string{"want two times of day"}},
		"equal hours":        {func(j *heartbeat.Job) { j.ActiveHours = "08:00-08:00" }, []string{"begin when they end"}},
		"hours past the day": {func(j *heartbeat.Job) { j.ActiveHours = "08:00-25:00" }, []string{"want two times of day"}},
		"zone":               {func(j *heartbeat.Job) { j.TimeZone = "Rome" }, []string{"no time zone"}},
		"no target":          {func(j *heartbeat.Job) { j.Target = channels.Key{} }, []string{"the target is missing"}},
		"target is a job":    {func(j *heartbeat.Job) { j.Target = channels.MustKey("heartbeat:evening") }, []string{"is a job"}},
		"no prompt":          {func(j *heartbeat.Job) { j.Prompt = " \n" }, []string{"the prompt is empty"}},
		"catch up":           {func(j *heartbeat.Job) { j.CatchUp = "always" }, []string{"want once or skip"}},
		"everything": {func(j *heartbeat.Job) { *j = heartbeat.Job{TimeZone: "x", ActiveHours: "y", CatchUp: "z"} }, []string{
			"the name", "no time zone", "active hours", "nothing says when", "the target is missing", "the prompt is empty", "catch_up",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			job := good
			test.change(&job)
			err := heartbeat.Validate(job)
			if (err == nil) != (len(test.want) == 0) {
				t.Fatalf("Validate = %v, want %q", err, test.want)
			}
			for _, words := range test.want {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("Validate = %v, want also %q", err, words)
				}
			}
			if err != nil && strings.Count(err.Error(), "\n")+1 != len(test.want) {
				t.Errorf("Validate = %v, want %d problems", err, len(test.want))
			}
		})
	}
}

func FuzzValidate(f *testing.F) {
	f.Add("0 8 * * 1-5", "Europe/Rome", "08:00-22:00")
	f.Add("@daily", "UTC", "22:00-06:00")
	f.Add("*/5 1,2-4/2 L * *", "../etc", "24:00-24:00")
	f.Fuzz(func(t *testing.T, cron, zone, hours string) {
		job := cronJob(cron, zone)
		job.ActiveHours = hours
		if heartbeat.Validate(job) != nil {
			return
		}
		at := time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC)
		for range 20 {
			next, err := heartbeat.Next(job, at)
			if err != nil || next.IsZero() {
				return // a day so rare that it lies too far ahead
			}
			if !next.After(at) || next.Nanosecond() != 0 {
				t.Fatalf("%q in %q: after %s comes %s", cron, zone, at, next)
			}
			at = next
		}
	})
}
