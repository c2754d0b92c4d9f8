package heartbeat_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/heartbeat"

	"github.com/google/go-cmp/cmp"
)

// instants are the first due times of w, asked for when the clocks of zone showed from.
func instants(t *testing.T, w heartbeat.When, from, zone string, most int) (list []string) {
	t.Helper()
	where, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := time.ParseInLocation("2006-01-02 15:04", from, where)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Plan(asked, where)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	due := asked
	for range most {
		due = p.Next(due)
		if due.IsZero() {
			break
		}
		list = append(list, due.In(where).Format("2006-01-02 15:04 -0700"))
	}
	return list
}

func rule(freq string, days, times string, more ...func(*heartbeat.Rule)) heartbeat.When {
	r := heartbeat.Rule{Freq: freq, Days: strings.Fields(days), Times: strings.Fields(times)}
	for _, f := range more {
		f(&r)
	}
	return heartbeat.When{Repeat: &r}
}

func interval(n int) func(*heartbeat.Rule)   { return func(r *heartbeat.Rule) { r.Interval = n } }
func count(n int) func(*heartbeat.Rule)      { return func(r *heartbeat.Rule) { r.Count = n } }
func until(day string) func(*heartbeat.Rule) { return func(r *heartbeat.Rule) { r.Until = day } }
func onceAt(at string) heartbeat.When        { return heartbeat.When{At: at} }
func first(at string, w heartbeat.When) heartbeat.When {
	w.At = at
	return w
}

func TestRulesAndClocks(t *testing.T) {
	for _, test := range []struct {
		name       string
		when       heartbeat.When
		from, zone string
		want       []string
	}{
		{
			"Berlin, 02:30 is jumped over", rule("daily", "", "02:30"), "2027-03-26 12:00", "Europe/Berlin",
			[]string{"2027-03-27 02:30 +0100", "2027-03-28 03:00 +0200", "2027-03-29 02:30 +0200"},
		},
		{
			"Berlin, 02:30 comes twice", rule("daily", "", "02:30"), "2027-10-30 12:00", "Europe/Berlin",
			[]string{"2027-10-31 02:30 +0200", "2027-11-01 02:30 +0100"},
		},
		{
			"Berlin, two times in one gap are one", rule("daily", "", "02:10 02:50 04:00"), "2027-03-27 12:00", "Europe/Berlin",
			[]string{"2027-03-28 03:00 +0200", "2027-03-28 04:00 +0200", "2027-03-29 02:10 +0200"},
		},
		{
			"New York, gap", rule("daily", "", "02:15"), "2027-03-13 12:00", "America/New_York",
			[]string{"2027-03-14 03:00 -0400", "2027-03-15 02:15 -0400"},
		},
		{
			"New York, twice", rule("daily", "", "01:30"), "2027-11-06 12:00", "America/New_York",
			[]string{"2027-11-07 01:30 -0400", "2027-11-08 01:30 -0500"},
		},
		{
			"Lord Howe, the gap is half an hour", rule("daily", "", "02:10"), "2027-10-02 12:00", "Australia/Lord_Howe",
			[]string{"2027-10-03 02:30 +1100", "2027-10-04 02:10 +1100"},
		},
		{
			"Lord Howe, half an hour comes twice", rule("daily", "", "01:45"), "2027-04-03 12:00", "Australia/Lord_Howe",
			[]string{"2027-04-04 01:45 +1100", "2027-04-05 01:45 +1030"},
		},
		{
			"São Paulo gives up its summer time", rule("yearly", "", "09:00"), "2017-12-15 12:00", "America/Sao_Paulo",
			[]string{"2018-12-15 09:00 -0200", "2019-12-15 09:00 -0300"},
		},
		{
			"Istanbul stays on summer time", rule("yearly", "", "09:00"), "2014-12-15 12:00", "Europe/Istanbul",
			[]string{"2015-12-15 09:00 +0200", "2016-12-15 09:00 +0300"},
		},
		{
			"Samoa has no 30 December 2011", rule("daily", "", "09:00"), "2011-12-28 12:00", "Pacific/Apia",
			[]string{"2011-12-29 09:00 -1000", "2011-12-31 00:00 +1400", "2011-12-31 09:00 +1400", "2012-01-01 09:00 +1400"},
		},
		{
			"Samoa, three times of the lost day are one", rule("daily", "", "00:00 09:00 21:00"), "2011-12-29 12:00", "Pacific/Apia",
			[]string{"2011-12-29 21:00 -1000", "2011-12-31 00:00 +1400", "2011-12-31 09:00 +1400", "2011-12-31 21:00 +1400", "2012-01-01 00:00 +1400"},
		},
		{
			"Samoa, the lost Friday", rule("weekly", "fr", "09:00"), "2011-12-23 12:00", "Pacific/Apia",
			[]string{"2011-12-31 00:00 +1400", "2012-01-06 09:00 +1400"},
		},
		{
			"Samoa, the lost day counts once", rule("daily", "", "00:00 09:00", count(4)), "2011-12-28 12:00", "Pacific/Apia",
			[]string{"2011-12-29 00:00 -1000", "2011-12-29 09:00 -1000", "2011-12-31 00:00 +1400", "2011-12-31 09:00 +1400"},
		},
		{
			"Samoa, until the lost day", rule("daily", "", "09:00", until("2011-12-30")), "2011-12-28 12:00", "Pacific/Apia",
			[]string{"2011-12-29 09:00 -1000", "2011-12-31 00:00 +1400"},
		},
		{
			"Morocco stays on summer time", rule("yearly", "", "09:00"), "2016-12-15 12:00", "Africa/Casablanca",
			[]string{"2017-12-15 09:00 +0000", "2018-12-15 09:00 +0100"},
		},
		{
			"Morocco, Ramadan begins", rule("daily", "", "02:30"), "2026-02-14 12:00", "Africa/Casablanca",
			[]string{"2026-02-15 02:30 +0100", "2026-02-16 02:30 +0000"},
		},
		{
			"Morocco, Ramadan ends", rule("daily", "", "02:30"), "2026-03-21 12:00", "Africa/Casablanca",
			[]string{"2026-03-22 03:00 +0100", "2026-03-23 02:30 +0100"},
		},
		{
			"the last Friday", rule("monthly", "-1fr", "16:00"), "2026-11-29 12:00", "Europe/Berlin",
			[]string{"2026-12-25 16:00 +0100", "2027-01-29 16:00 +0100", "2027-02-26 16:00 +0100"},
		},
		{
			"the last day of the month", rule("monthly", "-1", "08:00"), "2027-01-31 12:00", "UTC",
			[]string{"2027-02-28 08:00 +0000", "2027-03-31 08:00 +0000"},
		},
		{
			"the 31st, where there is one", rule("monthly", "31", "08:00"), "2027-01-31 12:00", "UTC",
			[]string{"2027-03-31 08:00 +0000", "2027-05-31 08:00 +0000"},
		},
		{
			"every other Monday begins with the next", rule("weekly", "mo", "09:00", interval(2)), "2026-12-02 12:00", "UTC",
			[]string{"2026-12-07 09:00 +0000", "2026-12-21 09:00 +0000", "2027-01-04 09:00 +0000"},
		},
		{
			"every other day begins today", rule("daily", "", "18:00", interval(2)), "2026-12-30 12:00", "UTC",
			[]string{"2026-12-30 18:00 +0000", "2027-01-01 18:00 +0000"},
		},
		{
			"workdays, twice a day", rule("weekly", "mo tu we th fr", "17:30 09:00"), "2026-12-04 12:00", "UTC",
			[]string{"2026-12-04 17:30 +0000", "2026-12-07 09:00 +0000", "2026-12-07 17:30 +0000"},
		},
		{
			"the last Friday of November", first("2026-11-30T16:00", rule("yearly", "-1fr", "")), "2026-11-29 12:00", "UTC",
			[]string{"2027-11-26 16:00 +0000", "2028-11-24 16:00 +0000"},
		},
		{
			"29 February", first("2028-02-29T08:00", rule("yearly", "", "")), "2026-11-29 12:00", "UTC",
			[]string{"2028-02-29 08:00 +0000", "2032-02-29 08:00 +0000"},
		},
		{
			"until is that day too", rule("daily", "", "23:59", until("2026-12-01")), "2026-11-30 12:00", "Asia/Tokyo",
			[]string{"2026-11-30 23:59 +0900", "2026-12-01 23:59 +0900"},
		},
		{
			"count counts what is due", rule("daily", "", "09:00 21:00", count(3)), "2026-11-30 12:00", "UTC",
			[]string{"2026-11-30 21:00 +0000", "2026-12-01 09:00 +0000", "2026-12-01 21:00 +0000"},
		},
		{
			"count in the hour that comes twice", rule("daily", "", "01:30", count(1)), "2027-11-07 12:00", "America/New_York",
			[]string{"2027-11-08 01:30 -0500"},
		},
		{
			"two times in one gap count once", rule("daily", "", "02:10 02:50", count(3)), "2027-03-27 12:00", "Europe/Berlin",
			[]string{"2027-03-28 03:00 +0200", "2027-03-29 02:10 +0200", "2027-03-29 02:50 +0200"},
		},
		{"tomorrow at nine is the wall", onceAt("2027-03-28T09:00"), "2027-03-27 09:00", "Europe/Berlin", []string{"2027-03-28 09:00 +0200"}},
		{"in 24 hours is real time", heartbeat.When{In: "24h"}, "2027-03-27 09:00", "Europe/Berlin", []string{"2027-03-28 10:00 +0200"}},
		{"once, in the gap", onceAt("2027-03-28T02:30"), "2027-03-27 09:00", "Europe/Berlin", []string{"2027-03-28 03:00 +0200"}},
		{
			"every is real time",
			heartbeat.When{Every: "6h"},
			"2027-03-27 22:00", "Europe/Berlin",
			[]string{"2027-03-28 05:00 +0200", "2027-03-28 11:00 +0200", "2027-03-28 17:00 +0200"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := instants(t, test.when, test.from, test.zone, max(len(test.want), 1))
			if test.when.Repeat != nil && (test.when.Repeat.Until != "" || test.when.Repeat.Count > 0) {
				got = instants(t, test.when, test.from, test.zone, 10) // it ends
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("due times (-want +got):\n%s", diff)
			}
		})
	}
}

func TestACountOfAThousandEnds(t *testing.T) {
	got := instants(t, rule("daily", "", "09:00", count(1000)), "2026-11-29 12:00", "Europe/Berlin", 1100)
	if len(got) != 1000 || got[999] != "2029-08-25 09:00 +0200" {
		t.Errorf("%d occurrences, the last on %s; want 1000", len(got), got[len(got)-1])
	}
}

// No day fits some rules. Finding that out must not take long: anybody may ask for one.
func TestImpossibleRules(t *testing.T) {
	for _, test := range []struct {
		name string
		when heartbeat.When
		want string // in the error
	}{
		{"30 February", first("2027-02-01T09:00", rule("yearly", "30", "")), "no such day"},
		{"the fifth Monday of each February, but not a leap year", first("2027-02-02T09:00", rule("yearly", "5mo", "", until("2030-01-01"))), "no such day"},
		{"ends before it begins", rule("weekly", "mo", "09:00", until("2026-11-28")), "is over"},
		{"ends before its first day", rule("weekly", "fr", "09:00", until("2026-12-01")), "no such day"},
		{"hourly", rule("hourly", "", "09:00"), "want daily, weekly, monthly or yearly"},
		{"no times", rule("daily", "", ""), "0 times of day"},
		{"no such time", rule("daily", "", "25:00"), "want a time of day"},
		{"days of a day", rule("daily", "mo", "09:00"), "make it weekly"},
		{"the second Monday of a week", rule("weekly", "2mo", "09:00"), "weekdays alone"},
		{"which Monday", rule("monthly", "mo", "09:00"), "1mo or -1mo"},
		{"the sixth Monday", rule("monthly", "6mo", "09:00"), "at most 5"},
		{"the 32nd", rule("monthly", "32", "09:00"), "at most 31"},
		{"the zeroth", rule("monthly", "0", "09:00"), "want a weekday"},
		{"Friday the 13th", rule("monthly", "1fr 13", "09:00"), "make two rules"},
		{"an interval of a century", rule("yearly", "", "09:00", interval(100)), "want 1 to 10"},
		{"too many", rule("daily", "", "09:00", count(1001)), "want 1 to 1000"},
		{"two ends", rule("daily", "", "09:00", count(2), until("2027-01-01")), "write one of them"},
		{"two answers to when", heartbeat.When{At: "2027-01-01T09:00", In: "1h"}, "write one of"},
		{"none", heartbeat.When{}, "write one of"},
		{"an offset", onceAt("2027-01-01T09:00+01:00"), "has an offset"},
		{"UTC", onceAt("2027-01-01T09:00:00Z"), "has an offset"},
		{"a day alone", onceAt("2027-01-01"), "a time of day"},
		{"the past", onceAt("2026-11-28T09:00"), "it is Sunday 29 November 2026, 12:00 (UTC) now"},
		{"now", onceAt("2026-11-29T12:00"), "is over"},
		{"a lifetime ahead", onceAt("2099-01-01T09:00"), "ten years"},
		{"in minus an hour", heartbeat.When{In: "-1h"}, "at least"},
		{"every minute", heartbeat.When{Every: "1m"}, "at least 5m"},
		{"days as a duration", heartbeat.When{In: "2d"}, "write a day as at"},
	} {
		t.Run(test.name, func(t *testing.T) {
			began := time.Now()
			_, err := test.when.Plan(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), time.UTC)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Plan = %v, want an error that says %q", err, test.want)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("Plan took %s", took)
			}
		})
	}
}

func TestRulesInWords(t *testing.T) {
	for _, test := range []struct {
		when heartbeat.When
		want string
	}{
		{rule("daily", "", "09:00"), "every day at 09:00"},
		{rule("weekly", "mo fr", "09:00 17:00", interval(2)), "every 2 weeks on Monday and Friday at 09:00 and 17:00"},
		{rule("monthly", "-1fr", "16:00", until("2027-06-30")), "every month on the last Friday at 16:00 until 2027-06-30"},
		{rule("monthly", "2 13 -2", "16:00", count(5)), "every month on the 2nd day, the 13th day and the 2nd day from the end at 16:00, 5 times"},
		{heartbeat.When{Every: "90m"}, "every 1 hour 30 minutes"},
		{heartbeat.When{Every: "5m"}, "every 5 minutes"},
		{heartbeat.When{Every: "2h"}, "every 2 hours"},
		{heartbeat.When{In: "90m"}, ""},
	} {
		p, err := test.when.Plan(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), time.UTC)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.String() != test.want {
			t.Errorf("String() = %q, want %q", p, test.want)
		}
	}
}

// A day that not each month or year has is not said to come in each.
func TestSkippedInWords(t *testing.T) {
	for _, test := range []struct {
		from string
		when heartbeat.When
		want string
	}{
		{"2027-01-31", rule("monthly", "", "08:00"), "every month at 08:00 (months without that day are skipped)"},
		{"2027-01-28", rule("monthly", "", "08:00"), "every month at 08:00"},
		{"2027-01-28", rule("monthly", "31", "08:00"), "every month on the 31st day at 08:00 (months without that day are skipped)"},
		{"2027-01-28", rule("monthly", "1 30", "08:00"), "every month on the 1st day and the 30th day at 08:00 (days that a month does not have are skipped)"},
		{"2027-01-28", rule("monthly", "5fr", "08:00"), "every month on the 5th Friday at 08:00 (months without that day are skipped)"},
		{"2027-01-28", rule("monthly", "-1", "08:00"), "every month on the last day at 08:00"},
		{"2028-02-29", rule("yearly", "", "08:00"), "every year at 08:00 (years without that day are skipped)"},
		{"2028-01-31", rule("yearly", "", "08:00"), "every year at 08:00"},
	} {
		from, err := time.Parse(time.DateOnly, test.from)
		if err != nil {
			t.Fatal(err)
		}
		p, err := test.when.Plan(from, time.UTC)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.String() != test.want {
			t.Errorf("from %s: String() = %q, want %q", test.from, p, test.want)
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add("monthly", "-1fr", "16:00", 2, 0)
	f.Add("yearly", "30", "02:30", 10, 1000)
	f.Fuzz(func(t *testing.T, freq, days, times string, every, most int) {
		w := rule(freq, days, times, interval(every), count(most))
		from := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
		p, err := w.Plan(from, time.UTC)
		if err != nil {
			return
		}
		due := p.Next(from)
		if !due.After(from) {
			t.Errorf("the first is due at %s, want one after %s", due, from)
		}
		if after := p.Next(due); !after.IsZero() && !after.After(due) {
			t.Errorf("%s is followed by %s", due, after)
		}
	})
}
