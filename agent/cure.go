package agent

// Cure tells whoever runs Dragoman what to check or change, or is "" where nothing
// is known to help.
func (c Cause) Cure() string { return cures[c] }

var cures = map[Cause]string{
	CauseKey:         "The API key is missing, wrong or revoked: set model.api_key (or the variable that it names) to a valid one.",
	CauseAccess:      "The server refuses this key (403) without saying that it is wrong: look there at what the key, its project and its account may do.",
	CauseRegion:      "The provider does not serve the country or region of this machine: use another provider, or an address of this one for your region as model.base_url.",
	CauseModelAccess: "The model exists, but this key may not use it: allow it at the provider, or set model.name to a model that the key may use.",
	CauseBlocked:     "The refusal (403) comes from something before the model's server, like a proxy, a firewall or a protection against bots: look at its rules, at HTTPS_PROXY and at model.base_url.",
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
