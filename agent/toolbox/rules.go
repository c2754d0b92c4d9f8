package toolbox

import (
	"strings"

	"dragoman/agent"
)

// Rules are what one place of the configuration says about tools, by their names. A name
// that ends with a star stands for all that begin so: "files__*", or "*" for all.
type Rules map[string]agent.Rule

// every is the name for all tools.
const every = "*"

// Only are the rules of a list of names: no other tool is offered.
func Only(names []string) Rules {
	r := Rules{every: agent.RuleDeny}
	for _, name := range names {
		r[name] = agent.RuleDefault
	}
	return r
}

// Of is what r says about a tool. Its own name counts before a star, and a longer beginning
// before a shorter one.
func (r Rules) Of(tool string) agent.Rule {
	if rule, said := r[tool]; said {
		return rule
	}
	longest := -1
	var rule agent.Rule
	for name, of := range r {
		begin, many := strings.CutSuffix(name, every)
		if many && strings.HasPrefix(tool, begin) && len(begin) > longest {
			longest = len(begin)
			rule = of
		}
	}
	return rule
}

// Layers are the rules of several places, from the widest to the narrowest.
type Layers []Rules

// Of is what counts for a tool: what one place denies, no other one gives. Else the
// narrowest place counts that says something.
func (l Layers) Of(tool string) (rule agent.Rule) {
	for _, r := range l {
		said := r.Of(tool)
		switch said {
		case agent.RuleDeny:
			return agent.RuleDeny
		case agent.RuleDefault:
		default:
			rule = said
		}
	}
	return rule
}

// MayHaveAny reports whether l leaves a tool of that server, as far as it can tell without
// knowing what the server has.
func (l Layers) MayHaveAny(server string) bool {
	begin := server + borrowed
	for _, r := range l {
		any := r.Of(begin) != agent.RuleDeny
		for name, rule := range r {
			any = any || strings.HasPrefix(name, begin) && rule != agent.RuleDeny
		}
		if !any {
			return false
		}
	}
	return true
}
