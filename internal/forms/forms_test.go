package forms_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/forms"
	"dragoman/sessions/sqlite/sqlitetest"
)

var (
	chat = channels.MustKey("telegram:42")
	ann  = []string{"telegram:42"}
	bob  = []string{"telegram:7"}
)

// desk is a book with a clock.
type desk struct {
	*forms.Book
	t   *testing.T
	now time.Time
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	d.Book = forms.New(sqlitetest.Open(t, nil), 0, func() time.Time { return d.now })
	return d
}

// ask puts a form of ann's turn.
func (d *desk) ask(turn string, nth int, f agent.Form) *agent.Answer {
	d.t.Helper()
	a := d.Asker(forms.Turn{Chat: chat, Item: "in/telegram:42/1", Who: ann, Name: "Ann", Private: true})
	answer, until, err := a.Ask(context.Background(), agent.Asked{Turn: turn, Call: "c1", Nth: nth, Form: f})
	if err != nil || answer == nil && !until.After(d.now) {
		d.t.Fatalf("Ask = %+v, %v, %v", answer, until, err)
	}
	return answer
}

// say writes words, as a message of that id.
func (d *desk) say(who []string, id, words string) forms.Taken {
	d.t.Helper()
	got, err := d.Take(context.Background(), chat, who, id, words)
	if err != nil {
		d.t.Fatal(err)
	}
	return got
}

func number(n float64) *float64 { return &n }

var booking = agent.Form{From: "travel", Message: "Your trip?", Fields: []agent.Field{
	{Name: "city", Type: "string", Required: true, Max: number(20)},
	{Name: "class", Type: "string", Choices: []string{"e", "b"}, Shown: []string{"Economy", "Business"}, Required: true},
	{Name: "seats", Type: "integer", Min: number(1), Max: number(9), Default: json.RawMessage("2")},
	{Name: "day", Type: "string", Format: "date"},
	{Name: "meals", Type: "boolean", Required: true},
}}

// The fields are asked one after the other, until each has a value that fits. Only Ann
// answers, and each message of hers counts once.
func TestForm(t *testing.T) {
	d := newDesk(t)
	if a := d.ask("t1", 1, booking); a != nil {
		t.Fatalf("before anybody has answered: %+v", a)
	}
	w, err := d.Waiting(t.Context(), chat)
	if err != nil || w == nil || !w.IsFor(ann) || w.IsFor(bob) || !strings.Contains(w.Question(), "```\nYour trip?\n```") || !strings.Contains(w.Question(), "Value 1 of 5") {
		t.Fatalf("what waits is %+v, %v", w, err)
	}
	if got := d.say(bob, "b1", "Rome"); got.Is {
		t.Errorf("Bob's words are an answer: %+v", got)
	}
	for i, step := range []struct{ words, want string }{
		{"Llanfairpwllgwyngyllgogerych", "at most 20 letters"},
		{"Oslo", "Value 2 of 5"},
		{"first", "none of the choices"},
		{"3", "from 1 to 2"},
		{"business", "Value 3 of 5"},
		{"many", "no whole number"},
		{"0", "at least 1"},
		{"10", "at most 9"},
		{"2.5", "no whole number"},
		{"skip", "Value 4 of 5"},
		{"tomorrow", "no date"},
		{"SKIP", "Value 5 of 5"},
		{"skip", "needed"},
	} {
		id := fmt.Sprint("m", i)
		if got := d.say(ann, id, step.words); !got.Is || got.Due != "" || !strings.Contains(got.Say, step.want) {
			t.Errorf("%q is answered with %+v, want %q", step.words, got, step.want)
		}
		if again := d.say(ann, id, step.words); !strings.Contains(again.Say, step.want) {
			t.Errorf("%q, handed in again, is answered with %+v", step.words, again)
		}
	}
	if got := d.say(ann, "last", "yes"); got.Due != "in/telegram:42/1" {
		t.Errorf("the last value: %+v", got)
	}
	want := map[string]any{"city": "Oslo", "class": "b", "seats": 2.0, "meals": true}
	if a := d.ask("t1", 1, booking); a == nil || a.Action != agent.Accepted || !reflect.DeepEqual(a.Values, want) {
		t.Errorf("the answer is %+v, want %v", a, want)
	}
	if got := d.say(ann, "more", "and thanks"); got.Is {
		t.Errorf("afterwards words are an answer: %+v", got)
	}
}

func TestFormEnds(t *testing.T) {
	confirm := agent.Form{From: "travel", Message: "Really?"}
	for _, test := range []struct {
		name string
		end  func(d *desk)
		want agent.Action
	}{
		{"yes", func(d *desk) { d.say(ann, "1", "Yes") }, agent.Accepted},
		{"no", func(d *desk) { d.say(ann, "1", "hm"); d.say(ann, "2", "no") }, agent.Declined},
		{"cancel", func(d *desk) { d.say(ann, "1", "/deny") }, agent.Declined},
		{"no answer", func(d *desk) { d.now = d.now.Add(11 * time.Minute); d.say(ann, "1", "yes") }, agent.Dismissed},
		{"closed", func(d *desk) {
			if err := d.Close(t.Context(), chat); err != nil {
				t.Error(err)
			}
		}, agent.Dismissed},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t)
			d.ask("t1", 1, confirm)
			if a := d.ask("t2", 1, confirm); a == nil || a.Action != agent.Dismissed {
				t.Errorf("a second form at the same time: %+v", a)
			}
			test.end(d)
			if a := d.ask("t1", 1, confirm); a == nil || a.Action != test.want {
				t.Errorf("the answer is %+v, want %s", a, test.want)
			}
			for nth := 2; nth <= 4; nth++ {
				if a := d.ask("t1", nth, confirm); (a == nil) != (nth <= forms.MaxForms) {
					t.Errorf("form %d of the turn: %+v", nth, a)
				}
				d.say(ann, fmt.Sprint("n", nth), "no")
			}
		})
	}
	nobody := newDesk(t).Asker(forms.Turn{Chat: chat})
	if a, _, err := nobody.Ask(t.Context(), agent.Asked{Turn: "t"}); err != nil || a == nil || a.Action != agent.Dismissed {
		t.Errorf("where nobody is: %+v, %v", a, err)
	}
}

func TestValues(t *testing.T) {
	for _, test := range []struct {
		field agent.Field
		words string
		want  any // nil: a complaint
	}{
		{agent.Field{Format: "email"}, "ann@example.org", "ann@example.org"},
		{agent.Field{Format: "email"}, "Ann <ann@example.org>", nil},
		{agent.Field{Format: "uri"}, "https://example.org/a", "https://example.org/a"},
		{agent.Field{Format: "uri"}, "example", nil},
		{agent.Field{Format: "date-time"}, "2026-11-30T14:00:00Z", "2026-11-30T14:00:00Z"},
		{agent.Field{Format: "date-time"}, "2026-11-30", nil},
		{agent.Field{Pattern: "^[A-Z]{3}$"}, "OSL", "OSL"},
		{agent.Field{Pattern: "^[A-Z]{3}$"}, "Oslo", nil},
		{agent.Field{Type: "number"}, "-3.5", -3.5},
		{agent.Field{Type: "number"}, "NaN", nil},
		{agent.Field{Many: true, Choices: []string{"a", "b", "c"}, Max: number(2)}, "c, 1", []any{"c", "a"}},
		{agent.Field{Many: true, Choices: []string{"a", "b", "c"}, Max: number(2)}, "a,b,c", nil},
		{agent.Field{Choices: []string{"2", "1"}}, "1", "1"},
		{agent.Field{}, strings.Repeat("x", 20_000), nil},
		{agent.Field{}, "   ", nil},
	} {
		d := newDesk(t)
		test.field.Name = "v"
		test.field.Required = true
		f := agent.Form{From: "x", Fields: []agent.Field{test.field}}
		d.ask("t", 1, f)
		d.say(ann, "1", test.words)
		a := d.ask("t", 1, f)
		if (a == nil) != (test.want == nil) || a != nil && !reflect.DeepEqual(a.Values["v"], test.want) {
			t.Errorf("%+v: %.40q gives %+v, want %v", test.field, test.words, a, test.want)
		}
	}
}

// After a form is answered, words are words again, and the answer that comes again is known.
func TestAfterAForm(t *testing.T) {
	d := newDesk(t)
	f := agent.Form{From: "travel", Message: "Where?", Fields: []agent.Field{{Name: "city", Type: "string", Required: true}}}
	d.ask("t1", 1, f)
	d.say(ann, "a1", "Oslo")
	for id, again := range map[string]bool{"a1": true, "a2": false} {
		if w, is, err := d.Concerns(t.Context(), chat, ann, id); w != nil || is != again || err != nil {
			t.Errorf("%s: Concerns = %+v, %t, %v", id, w, is, err)
		}
	}
}
