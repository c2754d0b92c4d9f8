package main

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/internal/httpapi"
)

type sessionsTagCmd struct {
	keyArg
	Tags []string `arg:"" help:"TAG or +TAG adds a tag, -TAG removes one. To remove the tag h, or one that begins with c, put -- before the tags."`
	newFlag
}

func (k *sessionsTagCmd) Run(e *env, c *cli) error {
	change := httpapi.Change{New: k.New}
	for _, word := range k.Tags {
		switch {
		case strings.HasPrefix(word, "-"):
			change.Untag = append(change.Untag, word[1:])
		default:
			change.Tag = append(change.Tag, strings.TrimPrefix(word, "+"))
		}
	}
	return e.configure(c, k.Key, change)
}

// tagsAreNoFlags keeps the parser from taking -TAG for flags: of "sessions tag
// KEY" it puts the flags before the key and the tags behind --. What could be either is
// refused, because the tags would change in another store than was meant.
func tagsAreNoFlags(args []string) ([]string, error) {
	var flags, words []string // words are what is no flag: sessions tag KEY TAGS
	tagging := func() bool { return len(words) >= 2 && words[0] == "sessions" && words[1] == "tag" }
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case len(words) == 2 && !tagging():
			return args, nil
		case arg == "--":
			words = append(words, args[i+1:]...)
			i = len(args)
		case arg == "-c" || arg == "--config":
			if i++; i == len(args) || strings.HasPrefix(args[i], "-") {
				hint := ""
				if tagging() {
					hint = "; to remove the tag c, put -- before the tags"
				}
				return nil, &usageError{arg + " wants a configuration file" + hint}
			}
			flags = append(flags, arg, args[i])
		case !strings.HasPrefix(arg, "-") || arg == "-":
			words = append(words, arg)
		case len(words) < 3 || arg == "-h" || strings.HasPrefix(arg, "--"):
			flags = append(flags, arg)
		case strings.HasPrefix(arg, "-c"):
			return nil, &usageError{fmt.Sprintf(
				"%s may mean the configuration %s or the tag %s: write -c %[2]s, or put -- before the tags", oneLine(arg), oneLine(arg[2:]), oneLine(arg[1:]),
			)}
		default:
			words = append(words, arg)
		}
	}
	if !tagging() {
		return args, nil
	}
	n := min(3, len(words))
	return slices.Concat(words[:2], flags, words[2:n], []string{"--"}, words[n:]), nil
}
