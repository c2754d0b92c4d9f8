package main

// The help of commands whose arguments are hard to guess shows an example.

func example(line string) string { return "Example:\n\n    dragoman " + line }

func (*sessionsListCmd) Help() string {
	return example("sessions list --channel telegram --meta team=blue")
}

func (*sessionsSetCmd) Help() string {
	return example(`sessions set telegram:123456 model=small-1 "system=Be brief." meta.team=blue`)
}

func (*sessionsFactsCmd) Help() string { return example("sessions facts telegram:123456 --forget 3") }

func (*sessionsMigrateCmd) Help() string {
	return example("sessions migrate --from sqlite --to file")
}

func (*sessionsImportCmd) Help() string {
	return example("sessions import chat.json --key telegram:123456 --dry-run")
}

func (*sessionsExportCmd) Help() string {
	return example("sessions export telegram:123456 --format markdown --out chat.md")
}

func (*queueRetryCmd) Help() string { return example("queue retry out/telegram:123456/7") }

func (*pairApproveCmd) Help() string { return example("pair approve ABCD-EFGH") }
