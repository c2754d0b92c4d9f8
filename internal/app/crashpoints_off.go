//go:build !crashpoints

package app

import "dragoman/sessions"

// The crash campaign replaces these in a build of its own.

func wrapStore(s sessions.Store) sessions.Store { return s }

// passPoint marks a step that is neither the store's nor a channel's.
func passPoint(string) {}
