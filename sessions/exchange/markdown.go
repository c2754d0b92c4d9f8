package exchange

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// markdownWriter writes conversations for people. It quotes messages, so that none looks
// like a heading or another person's message, and folds tool calls and their results.
type markdownWriter struct {
	w     io.Writer
	zone  *time.Location
	key   channels.Key // of the conversation that is open
	day   string
	calls map[string]string // names of tools by call
	count int               // of conversations
}

func (p *markdownWriter) Close() error { return nil }

func (p *markdownWriter) Put(r sessions.Record) error {
	var b strings.Builder
	switch {
	case r.Conversation != nil:
		p.begin(&b, r.Conversation)
	case r.Messages != nil:
		if p.key != r.Messages.Key || p.count == 0 {
			return errLost(r.Messages)
		}
		for _, m := range r.Messages.Messages {
			p.message(&b, m)
		}
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

func (p *markdownWriter) begin(b *strings.Builder, c *sessions.ConversationRecord) {
	p.key = c.Key
	p.day = ""
	p.calls = map[string]string{}
	if p.count > 0 {
		b.WriteString("\n---\n\n")
	}
	p.count++
	fmt.Fprintf(b, "# %s\n", inline(c.Key.String()))
	if c.Title != "" {
		fmt.Fprintf(b, "\n%s\n", inline(c.Title))
	}
	if n := len(c.Summaries); n > 0 {
		b.WriteString("\nSummary of what was said before:\n\n" + quoted(c.Summaries[n-1].Text))
	}
}

func (p *markdownWriter) message(b *strings.Builder, m sessions.Message) {
	at := m.At.In(p.zone)
	if day := at.Format(time.DateOnly); day != p.day && !m.At.IsZero() {
		p.day = day
		fmt.Fprintf(b, "\n## %s\n", day)
	}
	if m.Role == sessions.RoleTool {
		name := cmp.Or(m.Name, p.calls[m.ToolCallID], "a tool")
		fold(b, "result of "+name, m.Content)
		return
	}
	if m.Content != "" || len(m.Attachments) > 0 {
		mark := ""
		switch {
		case m.Summary:
			mark = " (summary)"
		case m.Kind == sessions.MessageAgain:
			mark = " (asks for another answer)"
		case m.Kind == sessions.MessageStopped:
			mark = " (stopped)"
		case m.Synthetic:
			mark = " (note)"
		}
		fmt.Fprintf(b, "\n**%s** %s%s\n\n", inline(speaker(m)), at.Format("15:04"), mark)
	}
	if said := m.Said(); said != "" { // its files are listed below
		b.WriteString(quoted(said))
	}
	for _, a := range m.Attachments {
		fmt.Fprintf(b, "\n- attached: %s\n", inline(attached(a)))
	}
	for _, c := range m.ToolCalls {
		p.calls[c.ID] = c.Name
		fold(b, "used "+c.Name, c.Arguments)
	}
}

func speaker(m sessions.Message) string {
	if m.Role == sessions.RoleAssistant {
		return "dragoman"
	}
	return cmp.Or(m.Name, m.Sender, "person")
}

func attached(a channels.Attachment) string {
	name := cmp.Or(a.Name, a.File, "a file")
	kind := cmp.Or(string(a.Kind), "document")
	switch {
	case a.Missing != "":
		return fmt.Sprintf("%s (%s, missing: %s)", name, kind, a.Missing)
	case a.Bytes > 0:
		return fmt.Sprintf("%s (%s, %d bytes)", name, kind, a.Bytes)
	}
	return fmt.Sprintf("%s (%s)", name, kind)
}

// fold hides text until the reader opens it.
func fold(b *strings.Builder, title, text string) {
	title = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(line(title))
	text = strings.TrimRight(sessions.Printable(text), "\n")
	if text == "" {
		fmt.Fprintf(b, "\n*%s*\n", inline(title))
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n%s\n%s\n%s\n\n</details>\n", title, fence, text, fence)
}

// quoted returns text as a quotation.
func quoted(text string) string {
	var b strings.Builder
	for l := range strings.Lines(strings.TrimRight(sessions.Printable(text), "\n") + "\n") {
		b.WriteString(strings.TrimRight("> "+strings.TrimRight(l, "\n"), " ") + "\n")
	}
	return b.String()
}

// inline returns s as one line without markup.
func inline(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "<", "&lt;").Replace(line(s))
}

func line(s string) string { return strings.Join(strings.Fields(sessions.Printable(s)), " ") }
