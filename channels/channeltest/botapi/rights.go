package botapi

import "slices"

// rights are what an administrator has taken from the bot in a chat. The zero value is
// nothing.
type rights struct {
	closed  map[int64]bool // topics; 0 is General
	lost    map[int64]bool // topics that are gone for now
	refused []string       // sorts of messages: "text messages", "documents"
}

// DeleteTopic removes a topic with its messages.
func (c *Chat) DeleteTopic(topic int64) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	delete(c.topics, topic)
	for _, m := range slices.Clone(c.messages) {
		if m.Topic == topic {
			c.remove(m.ID)
		}
	}
}

// LoseTopic answers as if a topic were deleted, until FindTopic. Its messages stay.
func (c *Chat) LoseTopic(topic int64) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.rights.lost == nil {
		c.rights.lost = map[int64]bool{}
	}
	c.rights.lost[topic] = true
}

// FindTopic ends LoseTopic. The bot does not hear of it.
func (c *Chat) FindTopic(topic int64) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	delete(c.rights.lost, topic)
}

// CloseTopic closes a topic, or General if topic is 0: only administrators write there.
func (c *Chat) CloseTopic(topic int64) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.rights.closed == nil {
		c.rights.closed = map[int64]bool{}
	}
	c.rights.closed[topic] = true
}

// ReopenTopic opens it again, which the bot hears of.
func (c *Chat) ReopenTopic(topic int64, by User) {
	c.ReopenTopicSilently(topic)
	note := "forum_topic_reopened"
	if topic == 0 {
		note = "general_forum_topic_unhidden"
	}
	c.Post(Post{From: by, Topic: topic, Extra: map[string]any{note: map[string]any{}}})
}

// ReopenTopicSilently is ReopenTopic, but its update is lost.
func (c *Chat) ReopenTopicSilently(topic int64) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	delete(c.rights.closed, topic)
}

// Refuse takes the right to send a sort of messages: "text messages" or "documents".
func (c *Chat) Refuse(sorts ...string) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.rights.refused = sorts
}

// refusal is the answer to a message of that sort in topic, or nil.
func (r rights) refusal(topic int64, sort string) *answer {
	var no answer
	switch {
	case r.closed[topic]:
		no = badRequest("TOPIC_CLOSED")
	case slices.Contains(r.refused, sort):
		no = badRequest("not enough rights to send %s to the chat", sort)
	default:
		return nil
	}
	return &no
}
