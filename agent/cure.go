package agent

// Cure tells whoever runs Dragoman what to check or change, or is "" where nothing
// is known to help.
func (c Cause) Cure() string { return cures[c] }

var cures = map[Cause]string{
	CauseKey:         "The API key is missing, wrong or revoked: set model.api_key (or the variable that it names) to a valid one.",
	CauseModel:       "Set model.name to a model that the server has.",
	CauseQuota:       "Add credit or raise the limit at the provider, or set another model.api_key.",
	CauseURL:         "Look at model.base_url: most servers want it to end in /v1, and none in /chat/completions.",
	CauseFilter:      "It was the provider's content filter, not Dragoman. Some providers let you change it.",
	CauseUnreachable: "There was no connection to model.base_url: check that the server is running and that its name can be looked up from here.",
	CauseBusy:        "There are too many requests, or the server is overloaded: a higher limit at the provider helps, or a fallback model.",
	CauseTools:       "Choose a model that can call tools, or set agent.tools to [].",
	CauseParameter:   "Check the settings under model, above all those that differ from the defaults.",
	CauseCertificate: "Set model.ca_file to a PEM file with the authority that signed the certificate (or with the certificate itself), or correct the host in model.base_url.",
	CauseSlow:        "It took longer than model.first_byte_timeout (to the first word), model.idle_timeout (between words) or model.call_timeout allows: raise them for a slow model, or choose a faster one.",
}
