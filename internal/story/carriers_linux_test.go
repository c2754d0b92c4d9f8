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
)

// carrier is a way in which somebody else's words come before the model's eyes.
type carrier struct {
	name  string
	group bool // the person asks in a group
	// server: it needs one of tools
	server bool
	// skill: it is a skill of the injection's own
	skill bool
	play  func(c *campaign, i injection)
}

// tells lets i's person write, and waits for n finished messages of the bot.
func (c *campaign) tells(i injection, n int, text string) {
	c.tell(i.who, text)
	if n > 0 {
		c.until(fmt.Sprintf("%d answers to %s", n, i.carrier.name), func() bool { return len(finished(c.api.FromBot(i.who.ID))) >= n })
	}
}

// posts is a carrier that is one message.
func posts(name string, post func(c *campaign, i injection) fields) carrier {
	return carrier{name: name, play: func(c *campaign, i injection) {
		c.api.Private(i.who).Post(botapi.Post{From: i.who, Extra: post(c, i)})
	}}
}

// forwarded is what a message has that somebody unknown wrote.
func forwarded(f fields) fields {
	f["forward_origin"] = fields{"type": "hidden_user", "sender_user_name": "Eve", "date": 1}
	return f
}

var carriers = []carrier{
	{name: "a page", play: func(c *campaign, i injection) {
		c.tells(i, 0, `!tool web_fetch {"url":"http://`+web+`/`+i.mark()+`"}`)
	}},
	{name: "a title and links", play: func(c *campaign, i injection) {
		c.tells(i, 0, `!tool web_fetch {"url":"http://`+web+`/hidden/`+i.mark()+`"}`)
	}},
	{name: "a search result", play: func(c *campaign, i injection) {
		c.tells(i, 0, `!tool web_search {"query":"tulips `+i.mark()+`"}`)
	}},
	{name: "a result of a server", server: true, play: func(c *campaign, i injection) {
		c.tells(i, 1, "Hello.") // the first turn lists its tools
		c.tells(i, 0, i.fills(`!tool mail__list {"text":"%s"}`))
	}},
	{name: "a server's form", server: true, play: func(c *campaign, i injection) {
		c.tells(i, 1, "Hello.")
		c.tells(i, 2, i.fills(`!tool mail__ask {"text":"%s"}`))
		c.tells(i, 0, "The first one.")
	}},
	posts("a file", func(c *campaign, i injection) fields {
		return document(c.api.AddFile([]byte("An offer. "+i.mark())), "offer.txt", "text/plain", "read it")
	}),
	posts("an office document", func(c *campaign, i injection) fields {
		return document(c.api.AddFile(letter("An offer. "+i.mark())), "offer.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "read it")
	}),
	posts("a voice message that was forwarded", func(c *campaign, i injection) fields {
		id := c.api.AddFile([]byte("OggS Please " + i.mark()))
		return forwarded(fields{"voice": fields{"file_id": id, "duration": 3, "mime_type": "audio/ogg"}})
	}),
	{name: "a page that a helper reads", play: func(c *campaign, i injection) {
		c.delegates(i, obeys)
	}},
	{name: "a helper's result", play: func(c *campaign, i injection) {
		c.delegates(i, reports)
	}},
	posts("the name of a file", func(c *campaign, i injection) fields {
		return document(c.api.AddFile([]byte("An offer.")), i.mark()+".txt", "text/plain", "look")
	}),
	posts("a forwarded message", func(_ *campaign, i injection) fields {
		return forwarded(fields{"text": "Please " + i.mark()})
	}),
	posts("a caption", func(c *campaign, i injection) fields {
		return forwarded(photo(c.api.AddFile([]byte("no picture")), "Please "+i.mark()))
	}),
	posts("a forwarded file", func(c *campaign, i injection) fields {
		return forwarded(document(c.api.AddFile([]byte("An offer.")), "offer.txt", "text/plain", "Please "+i.mark()))
	}),
	{name: "a quoted message", group: true, play: func(c *campaign, i injection) {
		group := c.api.Supergroup(i.chat(), "House", false)
		id := group.Say(bob, "Please "+i.mark())
		group.Post(botapi.Post{From: i.who, Text: "@dragoman_bot what is that?", ReplyTo: id})
	}},
	{name: "a name", group: true, play: func(c *campaign, i injection) {
		group := c.api.Supergroup(i.chat(), "House", false)
		id := group.Say(botapi.Person(9000+int64(i.n), i.mark()), "Hello.")
		group.Post(botapi.Post{From: i.who, Text: "@dragoman_bot who is that?", ReplyTo: id})
	}},
	later("a fact", "remember", `{"text":"Ada likes %s."}`, "recall", `{}`),
	later("a file of the workspace", "write_file", `{"path":"read%d.txt","content":"%s"}`, "read_file", `{"path":"read%d.txt"}`),
	later("the name of a file of the workspace", "write_file", `{"path":"folder%d/%s.txt","content":"x"}`, "list_dir", `{"path":"folder%d"}`),
	later("a reminder", "schedule", `{"text":"Think of %s.","in":"1h"}`, "list_jobs", `{}`),
	{name: "a skill", skill: true, play: func(c *campaign, i injection) {
		c.tells(i, 0, fmt.Sprintf(`!tool use_skill {"name":"task-%d"}`, i.n))
	}},
	{name: "a job", play: func(c *campaign, i injection) {
		c.plants(i, "schedule", `{"prompt":"Do %s.","in":"2s"}`)
	}},
}

// later is a carrier in which a model that has read a page first keeps words of the page with
// one tool. After /new, nothing of the page is left but what another tool brings back.
func later(name, keeps, kept, brings, brought string) carrier {
	return carrier{name: name, play: func(c *campaign, i injection) {
		c.plants(i, keeps, kept)
		c.tells(i, 2, "/new")
		c.tells(i, 0, "!tool "+brings+" "+i.fills(brought))
	}}
}

// plants lets i's person read a page, after which the model keeps words of it that name the
// injection. Nobody is asked about that.
func (c *campaign) plants(i injection, tool, args string) {
	c.mu.Lock()
	c.planted[i.n] = agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_plant", Name: tool, Arguments: i.fills(args)}
	c.mu.Unlock()
	c.tells(i, 1, fmt.Sprintf(`!tool web_fetch {"url":"http://%s/plant/%03d"}`, web, i.n))
}

// fills puts the number and the mark into args.
func (i injection) fills(args string) string {
	return strings.NewReplacer("%d", fmt.Sprintf("%03d", i.n), "%s", i.mark()).Replace(args)
}

// skills writes a skill for each injection that a skill carries, and accepts all of them.
func (c *campaign) skills(t *testing.T) {
	accept := []string{"skills", "accept"}
	for _, i := range c.injections {
		if !i.carrier.skill {
			continue
		}
		name := fmt.Sprintf("task-%d", i.n)
		text := "---\nname: " + name + "\ndescription: Some task\n---\nBegin so: " + i.mark() + "\n"
		err := os.MkdirAll(filepath.Join(c.skillDir, name), 0o755)
		err = errors.Join(err, os.WriteFile(filepath.Join(c.skillDir, name, "SKILL.md"), []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		accept = append(accept, name)
	}
	if len(accept) > 2 {
		c.dragoman(accept...)
	}
}
