package app

import "dragoman/internal/api"

// configuration is the one that counts now, for the API.
func (d *Daemon) configuration() (api.Configuration, error) {
	cfg := d.current.Load()
	now := api.Configuration{File: cfg.Source().Path, Settings: []api.SettingNow{}, Warnings: []api.Finding{}, Refused: d.refused.Load(), Restart: []string{}}
	if changed := d.restart.Load(); changed != nil {
		now.Restart = append(now.Restart, *changed...)
	}
	list, err := cfg.Shown()
	if err != nil {
		return now, err
	}
	for _, s := range list {
		one := api.SettingNow{Path: s.Path, Value: s.Value, Source: "default", Line: s.Line}
		if s.Line > 0 {
			one.Source = "file"
		}
		if s.Environment {
			one.Source = "environment"
		}
		now.Settings = append(now.Settings, one)
	}
	for _, w := range cfg.Warnings() {
		now.Warnings = append(now.Warnings, api.Finding{File: w.File, Line: w.Line, Path: w.Path, What: w.What, Want: w.Want})
	}
	return now, nil
}
