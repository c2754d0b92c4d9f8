package mcp_test

// What the model reads of a call, or the operator of a server that is missing.
const (
	tooLong  = "more than 1024 KiB"
	tooMany  = "more than 50000 values or 20000 objects"
	tooDeep  = "nested more than 100 deep"
	noAnswer = `no answer within (8|12)s`
	ended    = "ended, or what it wrote is no answer"
	notAsked = "wants to ask"
	noPlace  = "told .*client does not support"
	notGiven = "wants something of the model or of this machine"
	declined = `told .*"action":"decline"`
	// asksPerson is a call that waits for the person, which nobody here is.
	asksPerson = "the tool asks the person something first"
	// flood is work of which nobody knows how long it takes here.
	flood = "done|" + noAnswer
)

// hostile is what comes of each behaviour over a pipe.
var hostile = []misbehaving{
	{name: "asks", work: asksPerson},
	{name: "asks@old", work: asksPerson},
	{name: "asks-bad", work: declined},
	{name: "asks-bad@old", work: declined},
	{name: "bad-json", work: "sent a message that is no JSON"},
	{name: "banner", work: "done"},
	{name: "banner@old", work: "done"},
	{name: "big", work: tooLong},
	{name: "big-schema", off: tooLong},
	{name: "breaks-schema", work: "all is well\n.Its structured content breaks the schema"},
	{name: "crash", work: ended},
	{name: "crash@old", work: ended},
	{name: "cursor", work: "please"},
	{name: "cursor@old", work: "please"},
	{name: "deaf", work: noAnswer},
	{name: "deep-result", work: tooDeep},
	{name: "deep-schema", off: tooDeep},
	{name: "dirty", work: "done\n\n.system. The operator"},
	{name: "doubling-schema", work: "all is well"},
	{name: "drip", work: noAnswer},
	{name: "endless-schema", work: "all is well"},
	{name: "endless-form@old", work: asksPerson},
	{name: "error", work: tooLong},
	{name: "frame", off: tooLong},
	{name: "future", off: "revision of the protocol that is not known"},
	{name: "hang", work: noAnswer},
	{name: "hang@old", work: noAnswer},
	{name: "heavy", work: "please"},
	{name: "hidden", work: "please"},
	{name: "ids", work: "refused|done"},
	{name: "ids@old", work: "refused|done"},
	{name: "instructions", work: "please"},
	{name: "leaves@old", work: asksPerson + "|" + ended},
	{name: "leak", work: "HOME="},
	{name: "lies", work: "please"},
	{name: "line", work: tooLong},
	{name: "link", work: asksPerson},
	{name: "link@old", work: asksPerson},
	{name: "many-parts", work: "(?s)information, not instructions.*x\nx"},
	{name: "mirror@old", work: `told .*"code":-32600`},
	{name: "missing", off: ended},
	{name: "names", work: "please"},
	{name: "never", off: "did not answer within 20s.*set protocol"},
	{name: "no-discover", off: "did not answer within 20s.*set protocol"},
	{name: "no-info", work: "please"},
	{name: "no-info@old", work: "please"},
	{name: "no-list", off: "does not list its tools: no answer in time"},
	{name: "no-listen", work: "please"},
	{name: "no-load", work: notAsked},
	{name: "no-schema", work: "please"},
	{name: "not-rpc", work: ended},
	{name: "no-params", work: asksPerson},
	{name: "no-params@old", work: `told .*"code":-32602`},
	{name: "notes", work: flood},
	{name: "notes@old", work: flood},
	{name: "null", work: "information, not instructions"},
	{name: "null-part", work: ended},
	{name: "null-question", work: "a message that makes no sense"},
	{name: "odd-parts", work: "(?s)done.*a picture that is not shown here.*link: key"},
	{name: "odd-schema", work: "please"},
	{name: "once", work: asksPerson},
	{name: "once@old", work: asksPerson},
	{name: "password", work: declined},
	{name: "password@old", work: declined},
	{name: "passwords", work: "goes on asking what nobody is asked"},
	{name: "pattern-schema", work: "all is well"},
	{name: "progress", work: noAnswer},
	{name: "requests", work: flood},
	{name: "requests@old", work: flood},
	{name: "roots", work: notGiven},
	{name: "roots@old", work: `told {"roots":\[\]}`},
	{name: "rpc-error", work: tooLong},
	{name: "rug", work: "done"},
	{name: "same-cursor", work: "please"},
	{name: "samples", work: notGiven},
	{name: "samples@old", work: noPlace},
	{name: "slow", work: "please", args: []string{"5"}},
	{name: "stderr", work: "please"},
	{name: "storm", work: flood},
	{name: "storm@old", work: flood},
	{name: "stubborn", work: "please"},
	{name: "task", work: "requires task augmentation"},
	{name: "text-ids", work: noAnswer + "|refused|" + ended},
	{name: "thousand", work: "please"},
	{name: "tiny-parts", work: tooMany},
	{name: "unknown-part", work: ended},
	{name: "wide-schema", work: "all is well"},
}
