package app

import (
	"cmp"
	"net/url"
	"slices"

	"dragoman/internal/api"
	"dragoman/internal/config"
)

// lookAt says how features of a kind are. A daemon asks it for each "dragoman status" and
// each view of Health, so it answers from what is known. Without a daemon (d is nil),
// "dragoman check" asks, and it may take seconds to find out.
type lookAt func(cfg *config.Config, d *Daemon) []api.Feature

// looks are all of them. The files of the features fill it before main begins, and
// nothing changes it afterwards.
var looks []lookAt

// feature makes l a part of what "check", "status" and Health say. The file of a feature
// calls it, so that nothing else needs to know its name:
//
//	var _ = feature(func(cfg *config.Config, d *Daemon) []api.Feature { … })
func feature(l lookAt) struct{} {
	looks = append(looks, l)
	return struct{}{}
}

// features are those of all kinds, by name.
func features(cfg *config.Config, d *Daemon) []api.Feature {
	var list []api.Feature
	for _, look := range looks {
		list = append(list, look(cfg, d)...)
	}
	slices.SortStableFunc(list, func(x, y api.Feature) int { return cmp.Compare(x.Name, y.Name) })
	return list
}

// Features say how the features of cfg would be in a daemon of this user on this machine.
func Features(cfg *config.Config) []api.Feature { return features(cfg, nil) }

// at is where a service is, for a sentence about it: its machine, and "" for the usual one.
func at(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return " at " + u.Host
}
