package tools_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// memory is a real one.
func memory(t *testing.T) people.Memory { return people.Memory{Facts: sqlitetest.Open(t, time.Now)} }

// A model that corrects what the answer names ends with one fact, in however many wordings
// it remembers the same.
func TestTheSameInTenWordings(t *testing.T) {
	f := memory(t)
	remember := tools.Remember(f)
	replaces := regexp.MustCompile(`replaces: \[(\d+)\]`)
	for _, text := range []string{
		"Anna's birthday is 3 May", "Anna's birthday is on 3 May.", "anna's  birthday is 3 may", "The birthday of Anna is 3 May",
		"Anna was born on 3 May", "Birthday of Anna: 3 May", "Anna has her birthday on 3 May", "3 May is Anna's birthday!",
		"Anna celebrates her birthday on 3 May", "Remember: Anna, birthday, 3 May",
	} {
		said, err := remember.Run(t.Context(), alicePrivate.call(fmt.Sprintf(`{"text":%q}`, text)))
		if err != nil {
			t.Fatal(err)
		}
		var old []string
		for _, m := range replaces.FindAllStringSubmatch(said, -1) {
			old = append(old, m[1])
		}
		if len(old) == 0 {
			continue
		}
		again := fmt.Sprintf(`{"text":%q,"replaces":[%s]}`, text, strings.Join(old, ","))
		if _, err := remember.Run(t.Context(), alicePrivate.call(again)); err != nil {
			t.Fatal(err)
		}
	}
	left, err := f.Recall(t.Context(), "person:telegram:7", "", 50)
	if err != nil || len(left) != 1 {
		t.Errorf("it remembers %v, %v, want one fact", left, err)
	}
}

// The model is told what is near, with whose words that is, and what a correction replaced.
func TestNeighboursAreNamed(t *testing.T) {
	f := memory(t)
	remember := tools.Remember(f)
	tainted := alicePrivate.call(`{"text":"The shop closes at six"}`)
	tainted.Taint = []sessions.Origin{sessions.OriginWeb}
	ok(t, second(remember.Run(t.Context(), tainted)))
	var found sessions.Taint
	c := alicePrivate.call(`{"text":"The shop closes at eight"}`)
	c.Found = &found
	said, err := remember.Run(t.Context(), c)
	want := regexp.MustCompile(`^Remembered as #2\.\n#1 says "The shop closes at six" \(\d+ \w+ \d{4}\)\. If this replaces it, call again with replaces: \[1\]\.$`)
	if err != nil || !want.MatchString(said) {
		t.Errorf("remember = %q, %v", said, err)
	}
	if got := found.List(); !slices.Equal(got, tainted.Taint) {
		t.Errorf("the answer has words of %v, want those of a page", got)
	}
	c.Args = json.RawMessage(`{"text":"The shop closes at eight","replaces":[1]}`)
	if said, err := remember.Run(t.Context(), c); err != nil || said != "Remembered as #2, instead of #1." {
		t.Errorf("remember = %q, %v", said, err)
	}
	refuse(t, remember, m{"text": "It closes at nine", "replaces": []int{7}}, "nothing was remembered")
	if said, err := tools.Recall(f).Run(t.Context(), alicePrivate.call(`{}`)); err != nil || !strings.HasPrefix(said, "#2 ") || strings.Contains(said, "#1") {
		t.Errorf("recall = %q, %v", said, err)
	}
}

func TestAFullMemory(t *testing.T) {
	f := memory(t)
	for i := range sessions.MostFactsOfPerson {
		_, err := f.Remember(t.Context(), "person:telegram:7", sessions.NewFact{Text: fmt.Sprint("word", i)})
		ok(t, err)
	}
	_, err := tools.Remember(f).Run(t.Context(), alicePrivate.call(`{"text":"one more"}`))
	if err == nil || !strings.Contains(err.Error(), "the memory is full: 200 facts fit") {
		t.Errorf("remember = %v", err)
	}
	said, err := tools.Remember(f).Run(t.Context(), alicePrivate.call(`{"text":"one more","replaces":"3"}`))
	if err != nil || said != "Remembered as #201, instead of #3." {
		t.Errorf("remember with replaces = %q, %v", said, err)
	}
}

// A prompt has pinned facts first, then those that were looked up last, then the newest.
func TestThePromptsOrder(t *testing.T) {
	f := memory(t)
	for _, text := range []string{"pinned", "looked up", "older", "newer"} {
		_, err := f.Remember(t.Context(), "person:telegram:7", sessions.NewFact{Text: text})
		ok(t, err)
	}
	ok(t, f.PinFact(t.Context(), "person:telegram:7", 1, true))
	ok(t, second(tools.Recall(f).Run(t.Context(), alicePrivate.call(`{"query":"looked"}`))))
	known := func() string {
		t.Helper()
		text, _, err := tools.Known(t.Context(), f, channels.MustKey("telegram:7"), channels.Person{IDs: []string{"7"}}, "", 3)
		ok(t, err)
		return regexp.MustCompile(`\(\d{4}-\d\d-\d\d\) `).ReplaceAllString(text, "")
	}
	first := known()
	if !strings.HasSuffix(first, ":\n- pinned\n- looked up\n- newer") {
		t.Errorf("the prompt has %q", first)
	}
	ok(t, second(tools.Recall(f).Run(t.Context(), alicePrivate.call(`{}`))))
	if again := known(); again != first {
		t.Errorf("a list of everything changes the prompt to %q", again)
	}
}
