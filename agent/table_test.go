package agent_test

import "dragoman/sessions"

// said holds conversations by language.
var said = map[string][]string{
	"en": {
		"Ada here. I keep bees behind the house, and I want to sell the old hive. What would people pay?",
		"Similar hives were sold for $129 lately. Shall I write an offer?",
		"Yes please, and find me a smoker. Also compare honey prices, I would charge $9 a jar.",
		"There is a smoker for 35 euros. Honey is sold for $8 to $11 a jar, so that is a good price.",
		"The queen is lost. Order a new one from Miller, and we move the hives on Friday. I can't help it, sorry.",
		"I ordered a queen from Miller. Treat the mites with oxalic acid before, and again in March.",
	},
}

// of returns a conversation of many messages in one language.
func of(language string) sessions.History {
	h := sessions.History{Generation: "g", FirstSeq: 1}
	for i := range 60 {
		role := sessions.RoleUser
		if i%2 == 1 {
			role = sessions.RoleAssistant
		}
		lines := said[language]
		h.Messages = append(h.Messages, sessions.Message{Seq: int64(i + 1), Role: role, Content: lines[i%len(lines)]})
	}
	return h
}
