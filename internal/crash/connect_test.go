package crash_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/channels/channeltest/botapi"
)

// connectCode is in the answer to /connect.
var connectCode = regexp.MustCompile(`/connect ([A-Z2-9]{5}-[A-Z2-9]{5})`)

// phone is somebody's private chat with one of the daemon's bots.
type phone struct {
	t   *testing.T
	api *botapi.Server
	ann botapi.User
}

func newPhone(t *testing.T, bot, name string) *phone {
	t.Helper()
	api, err := botapi.Start("127.0.0.1:0", botapi.Options{Token: bot + ":" + strings.Repeat("TEST", 9)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return &phone{t: t, api: api, ann: botapi.Person(firstChat, name)}
}

// channel is the phone in the configuration, with more settings.
func (p *phone) channel(name, more string) string {
	return fmt.Sprintf("  %s: {type: telegram, token: %q, api_url: %s, allow: [%d], %s}\n", name, p.api.Token(), p.api.URL(), firstChat, more)
}

func (p *phone) say(text string) { p.api.Private(p.ann).Say(p.ann, text) }

// count is how many of the bot's texts have these words, and how many of them are marked as
// possible repeats.
func (p *phone) count(words string) (n, marked int) {
	for _, text := range p.api.FromBot(firstChat) {
		if !strings.Contains(text, words) {
			continue
		}
		n++
		if strings.HasPrefix(text, "↻") {
			marked++
		}
	}
	return n, marked
}

// until waits for a text with these words.
func (p *phone) until(words string) {
	p.t.Helper()
	for range 1500 {
		if n, _ := p.count(words); n > 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Fatalf("no %q: %q", words, p.api.FromBot(firstChat))
}

// code is the last one that was shown.
func (p *phone) code() string {
	all := connectCode.FindAllStringSubmatch(strings.Join(p.api.FromBot(firstChat), "\n"), -1)
	if len(all) == 0 {
		p.t.Fatal("no code")
	}
	return all[len(all)-1][1]
}

// identities are those of people with several, once a daemon answers.
func (p *program) identities() (list []string) {
	p.t.Helper()
	var err error
	for range 500 {
		list, err = p.tryIdentities()
		if err == nil {
			return list
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Error(err)
	return nil
}

func (p *program) tryIdentities() (list []string, err error) {
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/api/v1/people", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+programToken)
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("people: %s", resp.Status)
	}
	var page struct {
		Data []struct{ Identities []string }
	}
	err = json.NewDecoder(resp.Body).Decode(&page)
	for _, one := range page.Data {
		list = append(list, one.Identities...)
	}
	return list, err
}

// Two networks are connected while the daemon is killed at each step: as the code is made and
// said, at each yes, and as each side is told. Both identities are one person at the end, and
// never half of it before; each side reads the question once, and how it ended.
func TestConnectKilled(t *testing.T) {
	t.Parallel()
	steps := []string{"accept.before@1", "accept.after@1"}
	for n := 1; n <= 6; n++ { // offered, redeemed, who is told, two yeses, who is told
		steps = append(steps, fmt.Sprintf("notes.all.before@%d", n), fmt.Sprintf("notes.all.after@%d", n))
	}
	for n := 1; n <= 4; n++ { // both were asked, both know
		steps = append(steps, fmt.Sprintf("notes.connect.before@%d", n), fmt.Sprintf("notes.connect.after@%d", n))
	}
	for _, step := range stepsOf(t, steps...) {
		t.Run(step, func(t *testing.T) {
			home, work := newPhone(t, "1000", "Ann"), newPhone(t, "1001", "Dr Ann")
			p := newProgramOn(t, "{type: sqlite}", bookkeeper)
			p.configure("channels:\n" + home.channel("home", "poll_timeout: 1s") + work.channel("work", "poll_timeout: 1s"))
			cmd := p.start(step)
			dead := ended(cmd)
			restarted := make(chan struct{})
			go func() {
				defer close(restarted)
				<-dead
				p.restarted(cmd, dead, step)
				if n := len(p.identities()); n != 0 && n != 2 {
					t.Errorf("after the restart %d identities are joined", n)
				}
			}()
			home.say("/connect")
			home.until("write this to me there")
			time.Sleep(100 * time.Millisecond) // a code that a crash has replaced is followed by another
			work.say("/connect " + home.code())
			home.until("Somebody has said your code")
			work.until("This would connect you with “Ann” (home:")
			home.say("/connect yes")
			home.until("Good. I wait for")
			if n := len(p.identities()); n != 0 {
				t.Errorf("after one yes %d identities are joined", n)
			}
			work.say("/connect yes")
			home.until("You are connected with")
			work.until("You are connected with")
			<-restarted
			if got := p.identities(); len(got) != 2 {
				t.Errorf("they are joined: %q", got)
			}
			for name, side := range map[string]*phone{"home": home, "work": work} {
				if n, _ := side.count("This code was used"); n > 0 {
					t.Errorf("%s is refused its own code after the crash: %q", name, side.api.FromBot(firstChat))
				}
				for _, words := range []string{"would connect you with", "You are connected with"} {
					if n, marked := side.count(words); n == 0 || n-marked > 1 {
						t.Errorf("%s reads %q %d times, %d of them marked: %q", name, words, n, marked, side.api.FromBot(firstChat))
					}
				}
			}
		})
	}
}
