package story_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/testkit"
)

// task is what somebody asks on an ordinary day, and what a good model then calls. %d is the
// number of the task, {web} an address of the public internet.
type task struct {
	words string
	calls []string // NAME {ARGUMENTS}
}

// ordinary are tasks of a family: questions about the web, notes, reminders and files, and what
// needs a server, a skill, a second loop, another chat or a command. Each is played twice.
var ordinary = []task{
	{"What time is it?", []string{`time {}`}},
	{"What does http://{web}/bus say about the 12?", []string{`web_fetch {"url":"http://{web}/bus"}`}},
	{"Summarise {web}/news for me", []string{`web_fetch {"url":"http://{web}/news"}`}},
	{"Read http://{web}/recipe and write the list of what I need to a file", []string{`web_fetch {"url":"http://{web}/recipe"}`, `write_file {"path":"shopping-%d.txt","content":"flour, eggs"}`}},
	{"http://{web}/match, and remind me when it begins", []string{`web_fetch {"url":"http://{web}/match"}`, `schedule {"text":"The match","in":"2h"}`}},
	{"search for tulips in April", []string{`web_search {"query":"tulips in April"}`}},
	{"search for plumbers in Rome and read the first result", []string{`web_search {"query":"plumbers in Rome"}`, `web_fetch {"url":"http://{web}/found"}`}},
	{"when does the library open?", []string{`web_search {"query":"when does the library open"}`}},
	{"how tall is Mont Blanc", []string{`web_search {"query":"how tall is Mont Blanc"}`, `web_fetch {"url":"http://{web}/found"}`}},
	{"weather Rome tomorrow", []string{`web_search {"query":"weather Rome tomorrow"}`}},
	{"remember that Ben is allergic to nuts", []string{`remember {"text":"Ben is allergic to nuts"}`}},
	{"what do you know about Ben?", []string{`recall {"query":"Ben"}`}},
	{"remember my size is 42 and then tell me all you know", []string{`remember {"text":"Wears size 42"}`, `recall {}`}},
	{"remind me at nine to call mum", []string{`schedule {"text":"Call mum","in":"3h"}`}},
	{"remind me every Monday to put the bins out", []string{`schedule {"text":"Bins","repeat":{"freq":"weekly","days":["mo"],"times":["07:00"]}}`}},
	{"which reminders do I have?", []string{`list_jobs {}`}},
	{"every morning at eight, tell me something nice", []string{`schedule {"prompt":"Say something nice","repeat":{"freq":"daily","times":["08:00"]}}`}},
	{"take my reminders off", []string{`list_jobs {}`, `cancel_job {"id":"r1"}`}},
	{"write a packing list for Rome", []string{`write_file {"path":"packing-%d.txt","content":"passport"}`}},
	{"which files are there?", []string{`list_dir {"path":"."}`}},
	{"note: the boiler man comes on Tuesday, and show me my notes", []string{`write_file {"path":"notes-%d.txt","content":"boiler"}`, `read_file {"path":"notes-%d.txt"}`}},
	{"what did I say about the boiler?", []string{`search_history {"query":"boiler"}`}},
	{"compare http://{web}/a and http://{web}/b", []string{`web_fetch {"url":"http://{web}/a"}`, `web_fetch {"url":"http://{web}/b"}`}},
	{"read http://{web}/list and follow its first link", []string{`web_fetch {"url":"http://{web}/list"}`, `web_fetch {"url":"http://{web}/linked"}`}},
	{"remember what is on http://{web}/opening", []string{`web_fetch {"url":"http://{web}/opening"}`, `remember {"text":"The pool opens at nine"}`}},
	{"which mails do I have?", []string{`mail__list {"text":"new"}`}},
	{"mail the plumber that Tuesday is fine", []string{`mail__send {"text":"Tuesday is fine."}`}},
	{"plan the week as we always do", []string{`use_skill {"name":"week"}`, `read_skill {"name":"week","path":"meals.md"}`}},
	{"have somebody read http://{web}/long", []string{`delegate {"task":"What does http://{web}/long say?"}`}},
	{"tell Bob that dinner is at eight", []string{`send_message {"to":"telegram:72","text":"Dinner is at eight."}`}},
	{"which kernel is this? use uname", []string{`exec {"command":"uname"}`}},
}

// houseOfHands are the settings of a house that has what the tasks need. servers is its section
// mcp.
func houseOfHands(t *testing.T, servers string) string {
	dir := filepath.Join(t.TempDir(), "week")
	err := os.Mkdir(dir, 0o755)
	for name, text := range map[string]string{
		"SKILL.md": "---\nname: week\ndescription: How this family plans its week\n---\nBegin with meals.md.\n", "meals.md": "Fish on Fridays.\n",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`web_search: {engine: searxng, url: "http://%s"}
queue: {rate_per_minute: 0}
exec: {enabled: true}
agent: {delegate: {enabled: true}}
skills: {dir: %q}
routes: [{from: telegram, to: "telegram:72", name: Bob}]
%s`, web, filepath.Dir(dir), servers)
}

// good is the model: it makes the calls of the task that the person's words are, one a step.
func good(x *agenttest.Exchange) {
	r := x.Request
	done := 0
	for _, m := range r.Messages {
		switch m.Role {
		case "tool":
			done++
		case "user":
			done = 0
		}
	}
	for n, task := range ordinary {
		if r.LastUser() != filled(task.words, n) || done >= len(task.calls) {
			continue
		}
		name, args, _ := strings.Cut(filled(task.calls[done], n), " ")
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: fmt.Sprintf("call_%d_%d", n, done), Name: name, Arguments: args})
		x.End("tool_calls")
		return
	}
	x.Text(fmt.Sprintf("Done, with %d calls.", done))
	x.End("stop")
}

// filled puts the number of a task and the address into its words.
func filled(s string, n int) string {
	return strings.NewReplacer("%d", fmt.Sprint(n), "{web}", web).Replace(s)
}

// goal is how many questions people get in fifty tasks, at most. Each task is played in a new
// conversation, and once more in the one that the others have filled.
const goal = 5

// On an ordinary day nearly nobody is asked anything.
func TestHandsOrdinary(t *testing.T) {
	if inOwnNetwork(t) && asUser(t) {
		ordinaryDay(t, "", "").isQuiet(t)
	}
}

// A server of tools that the operator has accepted, as the documentation says, changes
// nothing about that.
func TestHandsOrdinaryWithAServer(t *testing.T) {
	if inOwnNetwork(t) && asUser(t) {
		ordinaryDay(t, newMailServer(t, "Lists the mails.").settings(), "mail").isQuiet(t)
	}
}

// Until then, its descriptions are somebody else's words in each request: people are asked
// whenever something is sent, run or repeated, and still nothing is refused.
func TestHandsOrdinaryBeforeAccepting(t *testing.T) {
	if !inOwnNetwork(t) || !asUser(t) {
		return
	}
	d := ordinaryDay(t, newMailServer(t, "Lists the mails.").settings(), "")
	const weighty = 2 * 5 // played twice: two jobs that repeat, a mail, a message, a command
	if len(d.questions) != weighty {
		t.Errorf("people were asked %d times, want %d", len(d.questions), weighty)
	}
}

// day is what a day came to.
type day struct {
	played    int // tasks
	questions []string
}

// isQuiet wants that people were asked no more often than goal in fifty tasks.
func (d day) isQuiet(t *testing.T) {
	t.Helper()
	if 50*len(d.questions) > goal*d.played {
		t.Errorf("in %d tasks people were asked %d times, want at most %d in 50", d.played, len(d.questions), goal)
	}
}

// ordinaryDay plays all tasks in a house with these servers, of which one is accepted first
// ("": none).
func ordinaryDay(t *testing.T, servers, accepted string) (d day) {
	t.Helper()
	c := &campaign{}
	c.house = newHouse(t, plan{options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return good }}})
	c.configure(plan{rest: houseOfHands(t, servers)})
	c.serve(t)
	c.dragoman("skills", "accept", "week")
	c.start()
	if accepted != "" {
		c.dragoman("mcp", "accept", "--yes", accepted)
	}
	play := func(who botapi.User, n int) {
		if servers == "" && strings.HasPrefix(ordinary[n].calls[0], "mail__") {
			return
		}
		d.played++
		before := len(finished(c.api.FromBot(who.ID)))
		c.tell(who, filled(ordinary[n].words, n))
		var newest string
		c.until("an answer to "+ordinary[n].words, func() bool {
			all := finished(c.api.FromBot(who.ID))
			if len(all) <= before {
				return false
			}
			newest = all[len(all)-1]
			return strings.HasPrefix(newest, "Done") || strings.Contains(newest, "May I run")
		})
		if strings.Contains(newest, "May I run") {
			d.questions = append(d.questions, ordinary[n].words+": "+newest)
			c.presses(who, c.api.Private(who), "Allow once")
			testkit.Eventually(t, "the rest of "+ordinary[n].words, func() bool {
				all := finished(c.api.FromBot(who.ID))
				return strings.HasPrefix(all[len(all)-1], "Done")
			})
		} else if want := fmt.Sprintf("Done, with %d calls.", len(ordinary[n].calls)); newest != want {
			t.Errorf("%s: the model says %q, want %q", ordinary[n].words, newest, want)
		}
	}
	for n := range ordinary {
		play(botapi.Person(6000+int64(n), "Ada"), n)
	}
	for n := range ordinary {
		play(ann, n)
	}
	for _, list := range []string{c.dragoman("mcp", "list"), c.dragoman("status")} {
		tells := strings.Contains(list, "people are asked more often") && strings.Contains(list, "mcp accept mail")
		if tells != (servers != "" && accepted == "") {
			t.Errorf("that the descriptions count as foreign words is told: %t, in:\n%s", tells, list)
		}
	}
	t.Logf("%d tasks, %d questions:\n%s", d.played, len(d.questions), strings.Join(d.questions, "\n"))
	return d
}
