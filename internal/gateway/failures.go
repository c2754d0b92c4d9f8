package gateway

import (
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/lazily"
)

// sentence describes a failure. person is short and for the author of the
// message: it follows "Sorry, " or is alone in brackets. cure tells whoever
// runs Dragoman what to check or change.
type sentence struct{ person, cure string }

// cause is the part of the sentence that says what happened, without what follows for the
// author of a message: nobody has asked a job.
func (s sentence) cause() string {
	what, _, _ := strings.Cut(s.person, ". ")
	what, _, _ = strings.Cut(what, ", so ")
	return strings.TrimSuffix(what, ".")
}

// Causes besides those of package agent.
const (
	whyUnknown  agent.Cause = "unknown"
	whyRefused  agent.Cause = "refused"
	whyInvalid  agent.Cause = "no reason"
	whyGone     agent.Cause = "gone"
	whySame     agent.Cause = "the same again"
	whyEmpty    agent.Cause = "empty"
	whyThoughts agent.Cause = "only thoughts"
	whyCut      agent.Cause = "cut before any word"
	whyFiltered agent.Cause = "filtered"
)

// sentences has one for every way in which a model gives no answer.
var sentences = map[agent.Cause]sentence{
	agent.CauseKey: {
		"the model's server does not accept my key, so I cannot answer now",
		agent.CauseKey.Cure(),
	},
	agent.CauseAccess: {
		"the model's server refuses my requests, so I cannot answer now",
		agent.CauseAccess.Cure(),
	},
	agent.CauseRegion: {
		"the model's provider does not serve the country that I run in, so I cannot answer now",
		agent.CauseRegion.Cure(),
	},
	agent.CauseModelAccess: {
		"I am not allowed to use the model that I am set to use, so I cannot answer now",
		agent.CauseModelAccess.Cure(),
	},
	agent.CauseBlocked: {
		"something between me and the model's server blocks my requests, so I cannot answer now",
		agent.CauseBlocked.Cure(),
	},
	agent.CauseModel: {
		"the model that I am set to use does not exist on its server, so I cannot answer now",
		agent.CauseModel.Cure(),
	},
	agent.CauseQuota: {
		"the account that pays for the model has no credit left, so I cannot answer now",
		agent.CauseQuota.Cure(),
	},
	agent.CauseURL: {
		"nothing answers at the address that I have for the model, so I cannot answer now",
		agent.CauseURL.Cure(),
	},
	agent.CauseFilter: {
		"the model's provider filters this message. Please say it in other words",
		agent.CauseFilter.Cure(),
	},
	agent.CauseUnreachable: {
		"I could not reach the model for a while, so I have given up on this message. Please ask again later",
		agent.CauseUnreachable.Cure(),
	},
	agent.CauseBusy: {
		"the model was overloaded for a while, so I have given up on this message. Please ask again later",
		agent.CauseBusy.Cure(),
	},
	agent.CauseTools: {
		"the model cannot use tools, so I cannot answer now",
		agent.CauseTools.Cure(),
	},
	agent.CauseParameter: {
		"the model's server does not take one of my settings, so I cannot answer now",
		agent.CauseParameter.Cure(),
	},
	agent.CauseCertificate: {
		"the certificate of the model's server is not trusted here, so I cannot answer now",
		agent.CauseCertificate.Cure(),
	},
	agent.CauseSlow: {
		"the model took too long, so I have given up on this message. Please ask again later",
		agent.CauseSlow.Cure(),
	},
	whyUnknown: {"something went wrong on my side and I could not answer this", "The log has the error under this id."},
	whyRefused: {"the model's server refuses my requests, so I cannot answer now", "Check the settings under model."},
	whyInvalid: {
		"the model's server refused this request and gave no reason that I know. Please ask in other words, or start again with /new",
		"Perhaps a setting under model, a file or a tool does not suit it; the log has the error under this id.",
	},
	whyGone: {"I could not reach the model for a while, so I have given up on this message. Please ask again later", "The log has each attempt."},
	whySame: {
		"the model's answer was broken three times in the same way, so I have stopped trying. Please ask again later, or in other words",
		"The server answers, but each time it breaks off or sends something that is not an answer; look at its log.",
	},
	whyEmpty: {"The model gave an empty answer. Please ask again, or in other words.", "If it happens often, the server's chat template may not fit the model."},
	whyThoughts: {
		"The model thought about this and then gave no answer. Please ask again, or in other words.",
		"Raise model.max_tokens, or let it think less.",
	},
	whyCut: {
		"The answer reached its length limit before its first word. Please ask again, or for less at once.",
		"Raise model.max_tokens; the model's thoughts count too.",
	},
	whyFiltered: {
		"The model's provider filtered the answer. Please say it in other words.",
		"It was the provider's content filter, not Dragoman. Some providers let you change it.",
	},
}

// causeOf names why a call ended a turn; model is nil if it was not the model.
func causeOf(model *agent.ModelError) agent.Cause {
	switch {
	case model == nil:
		return whyUnknown
	case sentences[model.Cause] != sentence{}:
		return model.Cause
	case model.Kind == agent.ErrorTemporary:
		return whyGone
	case model.Kind == agent.ErrorRefused:
		return whyRefused
	case model.Kind == agent.ErrorInvalid:
		return whyInvalid
	}
	return whyUnknown
}

// maxServerWords bounds how much of a server's message is repeated, in bytes.
const maxServerWords = 300

// packagePrefix is what our errors add before a server's words.
var packagePrefix = lazily.Compile(`^(?:\w+: )*(?:the server says: )?`)

// forOwner is the cure with the server's own words.
func (s sentence) forOwner(model *agent.ModelError) string {
	if model == nil || model.Err == nil {
		return s.cure
	}
	said := packagePrefix.Regexp().ReplaceAllString(strings.Join(strings.Fields(model.Err.Error()), " "), "")
	if model.Status != 0 {
		said = fmt.Sprintf("HTTP %d: %s", model.Status, said)
	}
	return strings.TrimSpace(s.cure + " The server says: " + channels.Foreign(clipText(said, maxServerWords)))
}

// withCure adds cure to text if whoever runs Dragoman reads the chat. Nobody
// else is to read it.
func (g *Gateway) withCure(k channels.Key, text, cure string) string {
	if cure == "" || !g.opts.People.IsOperatorsRoom(k) {
		return text
	}
	return text + "\n\n" + cure
}

func causeOfSilence(res agent.Result) agent.Cause {
	switch {
	case res.Finish == "content_filter":
		return whyFiltered
	case res.Finish == "length":
		return whyCut
	case res.Thought:
		return whyThoughts
	}
	return whyEmpty
}
