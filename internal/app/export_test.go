package app

import (
	"dragoman/internal/media"
	"dragoman/sessions"
)

// Filing is the store that forgets the files of what it forgets.
func Filing(s sessions.Store, files *media.Store) sessions.Store { return filing{s, files} }
