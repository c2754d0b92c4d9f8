package main

import (
	"strings"

	"dragoman/internal/httpapi"
)

type sessionsTagCmd struct {
	keyArg
	Tags   []string `arg:"" optional:"" help:"Tags to add."`
	Remove []string `placeholder:"TAG" help:"Remove this tag; can be repeated."`
	newFlag
}

func (k *sessionsTagCmd) Run(e *env, c *cli) error {
	if len(k.Tags)+len(k.Remove) == 0 {
		return &usageError{"name tags to add, or --remove TAG"}
	}
	change := httpapi.Change{New: k.New, Untag: k.Remove}
	for _, tag := range k.Tags {
		change.Tag = append(change.Tag, strings.TrimPrefix(tag, "+"))
	}
	return e.configure(c, k.Key, change)
}
