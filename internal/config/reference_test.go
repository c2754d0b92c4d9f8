package config_test

import (
	"fmt"
	"strings"

	"dragoman/internal/app"
	"dragoman/internal/config"
)

// referenceMark stands in docs/configuration.md where the generated table
// begins.
const referenceMark = "<!-- generated from internal/config: do not edit below -->"

// referenceTable is every key as Markdown. Keys that all channel types share
// are listed once.
func referenceTable() string {
	var b strings.Builder
	section := "\x00"
	shared := map[string]bool{}
	for _, e := range config.Reference(app.Types(), app.Rules()) {
		dir, key := "", e.Path
		if i := strings.LastIndexByte(e.Path, '.'); i >= 0 {
			dir, key = e.Path[:i], e.Path[i+1:]
		}
		if strings.HasPrefix(dir, "channels.<") && strings.HasSuffix(dir, ">") {
			switch key {
			case "type", "enabled", "allow", "pairing", "groups", "reset", "system_prompt", "prompts", "models":
				if shared[key] {
					continue
				}
				shared[key] = true
				dir, e.Default = "channels.<every type>", sharedDefaults[key]
			}
		}
		if dir != section {
			section = dir
			fmt.Fprintf(&b, "\n### %s\n\n| key | value | default | meaning |\n|---|---|---|---|\n", title(dir))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", key, e.Kind, code(e.Default), strings.ReplaceAll(e.Doc, "|", "\\|"))
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// sharedDefaults are the defaults of the keys of Access over all types.
var sharedDefaults = map[string]string{
	"enabled": "true", "pairing": "false", "groups": config.GroupsAddressed, "allow": `[]; web and cli: ["*"]`,
}

func title(dir string) string {
	if dir == "" {
		return "(top level)"
	}
	return "`" + dir + "`"
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
