package ircd

import "strings"

// batch is a message of several lines that a client is sending.
type batch struct {
	target string
	lines  []batchLine
}

// batchLine is a line of it, and the tags that came with it.
type batchLine struct{ tags, text string }

// batch begins or ends a message of several lines.
func (s *Server) batch(c *client, ref, target string) {
	if strings.HasPrefix(ref, "+") {
		c.batch = batch{target: target}
		return
	}
	b := c.batch
	c.batch = batch{}
	switch {
	case s.conf.ShortBatches || len(b.lines) == 0:
		c.send(":irc.test FAIL BATCH MULTILINE_MAX_BYTES 1 :Too long")
	default:
		s.message(c, "PRIVMSG", b.target, b.lines[0].text, b.lines...)
	}
}

// passBatch shows m a message of c that has several lines.
func (s *Server) passBatch(c, m *client, id, target string, lines []batchLine) {
	m.send(s.tags(m, c, id) + c.mask() + " BATCH +" + id + " draft/multiline " + target)
	for _, l := range lines {
		tags := "@batch=" + id
		if strings.Contains(l.tags, "draft/multiline-concat") {
			tags += ";draft/multiline-concat"
		}
		m.send(tags + " " + c.mask() + " PRIVMSG " + target + " :" + l.text)
	}
	m.send(":irc.test BATCH -" + id)
}
