package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"dragoman/internal/people"
)

const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete

	// callWithin is enough for a full page of long messages.
	callWithin = time.Minute
	// patient is for calls that read or rewrite much of the store, or wait for others.
	patient = maxWait + callWithin
)

// The verbs. A conversation that the caller may not read is not found, and a list leaves
// it out or shows only its numbers. [Client.Dump], [Client.Restore], [Client.Link]
// and [Client.Events] call the streams.
var (
	ReadStatus = Verb[None, Status]{Spec{
		Method: get, Path: "/status", Scope: people.Read, Within: callWithin, anyForm: true,
		Doc: "The state of the daemon, its channels, its model and its queues.",
	}, (*server).status}
	ReadHealth = Verb[None, HealthReport]{Spec{
		Method: get, Path: "/health", Scope: people.Read, Within: callWithin,
		Doc: "What `GET /status` says, and the figures of the last hour, every 15 seconds, of each node: to plot as they are.",
	}, (*server).health}
	ListModels = Verb[None, Page[ModelChoice]]{Spec{
		Method: get, Path: "/models", Scope: people.Chat, Within: callWithin,
		Doc: "The models that a prompt or a conversation may name, with window and prices, as `/model` lists them.",
	}, (*server).models}
	ListCommands = Verb[None, Page[Command]]{Spec{
		Method: get, Path: "/commands", Scope: people.Chat, Within: callWithin,
		Doc: "The commands that you may use in your rooms of the page, as `/help` lists them, for completion.",
	}, (*server).commands}
	ReadMe = Verb[None, Me]{Spec{
		Method: get, Path: "/me", Scope: people.Chat, Within: callWithin,
		Doc: "Who you are to Dragoman, and what you may do.",
	}, (*server).me}
	ListNodes = Verb[None, Nodes]{Spec{
		Method: get, Path: "/nodes", Scope: people.Read, Within: callWithin,
		Doc: "The nodes that work on the store.",
	}, (*server).nodes}
	ReadConfiguration = Verb[None, Configuration]{Spec{
		Method: get, Path: "/settings", Scope: people.Admin, Within: callWithin,
		Doc: "Every setting with its value and where it is from, without secrets, and what `dragoman check` finds.",
	}, (*server).configuration}
	ReadLog = Verb[LogQuery, Page[LogRecord]]{Spec{
		Method: get, Path: "/log", Scope: people.Admin, Within: callWithin,
		Doc: "The newest records of this node's log, the oldest first, without secrets.",
	}, (*server).log}
	followLog = Stream[LogQuery]{Spec{
		Method: get, Path: "/log/events", Scope: people.Admin, media: inEvents,
		Doc: "The newest records of the log, and then each one as it is logged, as server-sent events.",
	}, (*server).followLog, reflect.TypeFor[LogRecord]()}
	ReadNumbers = Verb[None, Numbers]{Spec{
		Method: get, Path: "/statistics", Scope: people.Read, Within: callWithin,
		Doc: "Messages and tokens of the last seven days, and the conversations with the most tokens.",
	}, (*server).numbers}

	ReadUsage = Verb[UsageBy, UsageReport]{Spec{
		Method: get, Path: "/statistics/usage", Scope: people.Read, Within: patient,
		Doc: "Turns, tokens, cost and tool calls of the last thirty days or of others, by day, model, person, chat or job.",
	}, (*server).usage}
	ReadOwnUsage = Verb[UsageQuery, UsageReport]{Spec{
		Method: get, Path: "/usage", Scope: people.Chat, Within: callWithin,
		Doc: "What you have used, by day; at a port without tokens, in the rooms of page and terminal.",
	}, (*server).ownUsage}

	ListBudgets = Verb[BudgetQuery, Page[Budget]]{Spec{
		Method: get, Path: "/statistics/budgets", Scope: people.Read, Within: patient,
		Doc: "The budgets of which something was used, the most used first: limit, used, reserved, and when they begin anew.",
	}, (*server).budgets}
	ListOwnBudgets = Verb[None, Page[Budget]]{Spec{
		Method: get, Path: "/budgets", Scope: people.Chat, Within: callWithin,
		Doc: "Your budgets: limit, used, reserved, and when they begin anew. A port without tokens shows none.",
	}, (*server).ownBudgets}

	ListFeedback = Verb[FeedbackQuery, Page[GivenFeedback]]{Spec{
		Method: get, Path: "/feedback", Scope: people.Operate, Within: callWithin,
		Doc: "What people think of answers, the newest first. What they wrote with it only if the caller may read the conversation.",
	}, (*server).listFeedback}
	CountFeedback = Verb[None, Page[ModelFeedback]]{Spec{
		Method: get, Path: "/statistics/feedback", Scope: people.Read, Within: callWithin,
		Doc: "How often people liked the answers of each model, and how often not, in the last year.",
	}, (*server).feedbackByModel}

	Find = Verb[ConversationQuery, Page[Conversation]]{Spec{
		Method: get, Path: "/conversations", Scope: people.Chat, Within: callWithin,
		Doc: "Conversations that match, the most recently updated first: all with the scope read, else one's own.",
	}, (*server).find}
	ReadConversation = Verb[About, Conversation]{Spec{
		Method: get, Path: "/conversations/{key}", Scope: people.Chat, Within: callWithin,
		Doc: "One conversation with its settings.",
	}, (*server).conversation}
	ListAgents = Verb[About, Page[AgentChoice]]{Spec{
		Method: get, Path: "/conversations/{key}/agents", Scope: people.Chat, Within: callWithin,
		Doc: "The personas that may answer in a conversation, as `/agent` lists them; `agent` of `PATCH` chooses one.",
	}, (*server).agents}
	ReadMessages = Verb[Part, Page[Message]]{Spec{
		Method: get, Path: "/conversations/{key}/messages", Scope: people.Chat, Within: callWithin,
		Doc: "Messages, oldest first: the first ones of a part that has an `after`, else the newest.",
	}, (*server).messages}
	readFile = Stream[FileOf]{Spec{
		Method: get, Path: "/conversations/{key}/messages/{seq}/files/{n}", Scope: people.Chat, media: inBytes,
		Doc: "A file that came with a message: `n` is 0 for its first one.",
	}, (*server).file, nil}
	uploadFile = Stream[None]{Spec{
		Method: post, Path: "/files", Scope: people.Chat, raw: true, media: inJSON, success: http.StatusCreated,
		Doc: "Stores a file, which is the whole body, for a message that names its `ref` within a day.",
	}, (*server).upload, reflect.TypeFor[Uploaded]()}
	ListFiles = Verb[FilesQuery, Page[ListedFile]]{Spec{
		Method: get, Path: "/files", Scope: people.Chat, Within: callWithin,
		Doc: "The files that came with messages of one conversation, or of all that you may read, the newest first; with the scope chat, of your own.",
	}, (*server).listFiles}
	exportThem = Stream[Export]{Spec{
		Method: get, Path: "/export", Scope: people.Chat, media: inExports,
		Doc: "Conversations as a file, as `dragoman sessions export` writes it: json, markdown, or jsonl with the scope admin. All of them only at the socket.",
	}, (*server).export, nil}
	ReadFeed = Verb[FeedPart, Page[FeedItem]]{Spec{
		Method: get, Path: "/conversations/{key}/feed", Scope: people.Chat, Within: callWithin,
		Doc: "What people wrote and were sent, oldest first and the newest page first, with the state of each delivery.",
	}, (*server).feed}
	ReadRunning = Verb[About, Running]{Spec{
		Method: get, Path: "/conversations/{key}/running", Scope: people.Chat, Within: callWithin,
		Doc: "The messages of the unfinished turn.",
	}, (*server).running}
	ReadSummary = Verb[About, *Summary]{Spec{
		Method: get, Path: "/conversations/{key}/summary", Scope: people.Chat, Within: callWithin,
		Doc: "The summary that replaces the older messages of the current generation, or null.",
	}, (*server).summary}
	ListGenerations = Verb[About, Page[Generation]]{Spec{
		Method: get, Path: "/conversations/{key}/generations", Scope: people.Chat, Within: callWithin,
		Doc: "The parts into which `/new` divided a conversation, oldest first.",
	}, (*server).generations}
	SearchAll = Verb[Search, Page[Hit]]{Spec{
		Method: get, Path: "/search", Scope: people.Chat, Within: callWithin,
		Doc: "Messages with these words, the best first.",
	}, (*server).search}
	Configure = Verb[Change, Settings]{Spec{
		Method: patch, Path: "/conversations/{key}", Scope: people.Chat, Within: callWithin, Act: "settings",
		Doc: "Changes a conversation's settings, and answers with all of them.",
	}, (*server).configure}
	Rename = Order[Title]{Spec{
		Method: put, Path: "/conversations/{key}/title", Scope: people.Chat, Within: callWithin, Act: "rename",
		Doc: "Gives a conversation a title; an empty one removes it.",
	}, (*server).rename}
	MarkRead = Order[ReadUpTo]{Spec{
		Method: put, Path: "/conversations/{key}/read", Scope: people.Chat, Within: callWithin,
		Doc: "Says that you have read a conversation, all of it or up to a number of `messages`.",
	}, (*server).markRead}
	MarkUnread = Order[About]{Spec{
		Method: del, Path: "/conversations/{key}/read", Scope: people.Chat, Within: callWithin,
		Doc: "Makes the last message of somebody else in a conversation new to you again.",
	}, (*server).markUnread}
	Pin = Order[About]{Spec{
		Method: put, Path: "/conversations/{key}/pin", Scope: people.Chat, Within: callWithin,
		Doc: "Pins a conversation, for you alone: `pinned=true` lists these.",
	}, (*server).pin}
	Unpin = Order[About]{Spec{
		Method: del, Path: "/conversations/{key}/pin", Scope: people.Chat, Within: callWithin,
		Doc: "Unpins a conversation.",
	}, (*server).unpin}
	PutQuestion = Verb[Question, Asked]{Spec{
		Method: post, Path: "/ask", Scope: people.Chat, Within: patient, maxBody: maxQuestion,
		Doc: "Asks a question in a conversation and waits for the answer; other people than the operator in their rooms. A repeat with the same `id` only waits.",
	}, (*server).ask}
	PutPrompt = Verb[Prompt, Said]{Spec{
		Method: post, Path: "/conversations/{key}/messages", Scope: people.Chat, Within: callWithin, maxBody: maxQuestion, success: http.StatusAccepted,
		Doc: "Puts a message into a conversation and does not wait for the answer: the events tell it. A repeat with the same `id` changes nothing.",
	}, (*server).say}
	EditMessage = Verb[Edit, Said]{Spec{
		Method: post, Path: "/conversations/{key}/messages/{seq}/edit", Scope: people.Chat, Within: callWithin, maxBody: maxQuestion, success: http.StatusAccepted, Act: "edit",
		Doc: "Puts a new text in the place of an earlier message of yours and has it answered. What followed stays in the transcript, marked `replaced_by`; the model does not see it any more.",
	}, (*server).edit}
	GiveFeedback = Order[FeedbackOn]{Spec{
		Method: put, Path: "/conversations/{key}/messages/{seq}/feedback", Scope: people.Chat, Within: callWithin,
		Doc: "Says what you think of an answer, `up` or `down`, with a note if you like. Your `feedback` is shown with the message.",
	}, (*server).giveFeedback}
	TakeFeedbackBack = Order[AnswerAt]{Spec{
		Method: del, Path: "/conversations/{key}/messages/{seq}/feedback", Scope: people.Chat, Within: callWithin,
		Doc: "Takes back what you think of an answer.",
	}, (*server).takeFeedbackBack}
	StopTurn = Order[Ordered]{Spec{
		Method: post, Path: "/conversations/{key}/stop", Scope: people.Chat, Within: callWithin, Act: "stop",
		Doc: "Stops the running turn and keeps what it said so far, as `/stop` does.",
	}, order("stop")}
	AskAgain = Order[AnotherTry]{Spec{
		Method: post, Path: "/conversations/{key}/again", Scope: people.Chat, Within: callWithin, Act: "again", success: http.StatusAccepted,
		Doc: "Has the last message answered once more, as `/again` does.",
	}, (*server).again}
	BeginAnew = Order[Ordered]{Spec{
		Method: post, Path: "/conversations/{key}/new", Scope: people.Chat, Within: callWithin, Act: "new",
		Doc: "Begins a new generation, as `/new` does: the old one is kept, and the model does not see it.",
	}, order("new")}
	Compact = Order[Ordered]{Spec{
		Method: post, Path: "/conversations/{key}/compact", Scope: people.Chat, Within: callWithin, Act: "compact", success: http.StatusAccepted,
		Doc: "Summarises the older part of a conversation, as `/compact` does: all of it is kept. The conversation is told what became of it.",
	}, order("compact")}
	ReplyByHand = Order[Reply]{Spec{
		Method: post, Path: "/conversations/{key}/replies", Scope: people.Operate, Within: callWithin, maxBody: maxQuestion, success: http.StatusAccepted, Act: "reply",
		Doc: "Sends a text in the name of the assistant, who then sees it as its own words, or `as` yourself. The transcript names who wrote it.",
	}, (*server).reply}
	Delete = Order[About]{Spec{
		Method: del, Path: "/conversations/{key}", Scope: people.Operate, Within: callWithin, Act: "delete",
		Doc: "Deletes the transcript of a conversation.",
	}, (*server).remove}
	Join = Order[Pair]{Spec{
		Method: post, Path: "/conversations/{from}/join", Scope: people.Operate, Within: patient, Act: "join",
		Doc:   "Puts the messages of a conversation before those of `to`, as one generation, and removes it.",
		ended: "it is either done or not, never half done; if `dragoman sessions show` no longer finds the first conversation, it is done, otherwise run the command again",
	}, (*server).join}

	ListFacts = Verb[FactsOf, Page[Remembered]]{Spec{
		Method: get, Path: "/facts", Scope: people.Chat, Within: patient,
		Doc: "What is remembered about a chat or a person, the newest first.",
	}, (*server).facts}
	Forget = Order[Fact]{Spec{
		Method: del, Path: "/facts/{fact}", Scope: people.Chat, Within: patient, Act: "forget",
		Doc: "Forgets one fact about a chat or a person. It can be taken back for 30 days.",
	}, (*server).forget}
	Correct = Verb[Correction, Remembered]{Spec{
		Method: patch, Path: "/facts/{fact}", Scope: people.Chat, Within: patient, Act: "correct a fact",
		Doc: "Replaces a fact by another text, which has a number of its own.",
	}, (*server).correct}
	PinFact = Order[Fact]{Spec{
		Method: put, Path: "/facts/{fact}/pin", Scope: people.Chat, Within: patient, Act: "pin a fact",
		Doc: "Pins a fact: it comes first in prompts.",
	}, (*server).pinFact}
	UnpinFact = Order[Fact]{Spec{
		Method: del, Path: "/facts/{fact}/pin", Scope: people.Chat, Within: patient, Act: "unpin a fact",
		Doc: "Unpins a fact.",
	}, (*server).unpinFact}
	UndoMemory = Verb[MemoryOf, Undone]{Spec{
		Method: post, Path: "/facts/undo", Scope: people.Chat, Within: patient, Act: "undo in a memory",
		Doc: "Takes back the newest replacement or forgetting of the last 30 days in one memory.",
	}, (*server).undoMemory}

	ListQueue = Verb[QueueQuery, Page[QueueItem]]{Spec{
		Method: get, Path: "/queue", Scope: people.Operate, Within: callWithin,
		Doc: "What is unanswered, undelivered, given up or set aside.",
	}, (*server).queue}
	ShowQueue = Verb[Item, QueueItem]{Spec{
		Method: get, Path: "/queue/{id}", Scope: people.Operate, Within: callWithin,
		Doc: "One entry of the queue, with its text if the caller may read it.",
	}, (*server).queueItem}
	RetryQueue = Order[Item]{Spec{
		Method: post, Path: "/queue/{id}/retry", Scope: people.Operate, Within: callWithin, Act: "queue retry",
		Doc:   "Tries an entry again now.",
		ended: "it may or may not be done; `dragoman queue list` shows whether the entry is still there",
	}, (*server).retry}
	DropQueue = Order[Item]{Spec{
		Method: del, Path: "/queue/{id}", Scope: people.Operate, Within: callWithin, Act: "queue drop",
		Doc: "Gives an entry up.",
	}, (*server).drop}

	ListApprovals = Verb[ApprovalQuery, Page[Approval]]{Spec{
		Method: get, Path: "/approvals", Scope: people.Chat, Within: callWithin,
		Doc: "The calls of tools that somebody was asked about, the newest first: those in conversations that you may read, and those that you may decide.",
	}, (*server).approvals}
	ReadApproval = Verb[ApprovalID, Approval]{Spec{
		Method: get, Path: "/approvals/{id}", Scope: people.Chat, Within: callWithin,
		Doc: "One of them.",
	}, (*server).approval}
	AnswerApproval = Verb[Answer, Decision]{Spec{
		Method: post, Path: "/approvals/{id}", Scope: people.Chat, Within: callWithin, Act: "approval",
		Doc: "Answers a question, if you may decide it. Whoever runs Dragoman may everywhere, with the scope operate. A second answer changes nothing, and is told what was decided.",
	}, (*server).decide}
	ListToolServers = Verb[None, Page[ToolServer]]{Spec{
		Method: get, Path: "/tool-servers", Scope: people.Operate, Within: callWithin,
		Doc: "The servers of tools of `mcp.servers`.",
	}, (*server).toolServers}
	TestToolServer = Verb[ToolServerName, ToolReport]{Spec{
		Method: post, Path: "/tool-servers/{name}/test", Scope: people.Admin, Within: callWithin, Act: "mcp test",
		Doc: "Starts a server of tools, and compares what it lists with what was accepted.",
	}, (*server).testToolServer}
	AcceptTools = Order[AcceptedTools]{Spec{
		Method: post, Path: "/tool-servers/{name}/accept", Scope: people.Admin, Within: callWithin, Act: "mcp accept",
		Doc: "Accepts what a server of tools lists now, if its digest is that of a test which you have read.",
	}, (*server).acceptTools}
	ListSkills = Verb[None, Page[Skill]]{Spec{
		Method: get, Path: "/skills", Scope: people.Operate, Within: callWithin,
		Doc: "The skills of `skills.dir`, and which of them the model is offered.",
	}, (*server).skills}
	AcceptSkill = Order[AcceptedSkill]{Spec{
		Method: post, Path: "/skills/{name}/accept", Scope: people.Admin, Within: callWithin, Act: "skill accept",
		Doc: "Offers a skill to the model, if its hash is that of the list which you have read.",
	}, (*server).acceptSkill}
	ListStandings = Verb[OptionalKey, Page[Standing]]{Spec{
		Method: get, Path: "/standings", Scope: people.Chat, Within: callWithin,
		Doc: "The calls that are always allowed, in conversations that you may read.",
	}, (*server).standings}
	RevokeStanding = Order[StandingID]{Spec{
		Method: del, Path: "/conversations/{key}/standings/{id}", Scope: people.Chat, Within: callWithin, Act: "approval revoke",
		Doc: "Takes one of them back: it is asked about again.",
	}, (*server).revoke}

	ListJobs = Verb[JobQuery, Page[Job]]{Spec{
		Method: get, Path: "/jobs", Scope: people.Chat, Within: callWithin,
		Doc: "The jobs and reminders, with what comes in the next 24 hours: all with the scope operate, else one's own and those that write to one's own conversations.",
	}, (*server).jobs}
	ListOccurrences = Verb[JobLimited, Page[Occurrence]]{Spec{
		Method: get, Path: "/occurrences", Scope: people.Chat, Within: callWithin,
		Doc: "What became of the due times of these jobs, newest first.",
	}, (*server).occurrences}
	RunJob = Order[JobName]{Spec{
		Method: post, Path: "/jobs/{name}/run", Scope: people.Operate, Within: callWithin, success: http.StatusAccepted, Act: "job run",
		Doc:   "Runs a job now; its schedule does not change.",
		ended: "the job may or may not have started; check `dragoman jobs list` before you run it again, or it may run twice",
	}, (*server).runJob}

	PauseJob = Order[JobName]{Spec{
		Method: put, Path: "/jobs/{name}/pause", Scope: people.Chat, Within: callWithin, Act: "job pause",
		Doc: "Pauses a job or a reminder: its due times are skipped. One's own reminders; all with the scope operate.",
	}, pauseJob(true)}
	ResumeJob = Order[JobName]{Spec{
		Method: del, Path: "/jobs/{name}/pause", Scope: people.Chat, Within: callWithin, Act: "job resume",
		Doc: "Lets a paused job or reminder run again.",
	}, pauseJob(false)}
	MakeReminder = Verb[NewReminder, Job]{Spec{
		Method: post, Path: "/reminders", Scope: people.Chat, Within: callWithin, success: http.StatusCreated, Act: "reminder make",
		Doc: "Makes a reminder of yours, in a conversation of yours.",
	}, (*server).remind}
	ChangeReminder = Verb[ReminderChange, Job]{Spec{
		Method: patch, Path: "/reminders/{name}", Scope: people.Chat, Within: callWithin, Act: "reminder change",
		Doc: "Changes when a reminder is due or, if it is yours, what it says. A new time ends a pause.",
	}, (*server).changeReminder}
	CancelReminder = Order[JobName]{Spec{
		Method: del, Path: "/reminders/{name}", Scope: people.Chat, Within: callWithin, Act: "reminder cancel",
		Doc: "Cancels a reminder. It can be brought back for an hour.",
	}, (*server).cancelReminder}
	RestoreReminder = Verb[JobName, Job]{Spec{
		Method: post, Path: "/reminders/{name}/restore", Scope: people.Chat, Within: callWithin, Act: "reminder restore",
		Doc: "Brings back a reminder that was cancelled within the last hour.",
	}, (*server).restoreReminder}

	ListPairings = Verb[Limited, Page[Pairing]]{Spec{
		Method: get, Path: "/pairings", Scope: people.Operate, Within: callWithin,
		Doc: "Who was let in, and who is asking.",
	}, (*server).pairings}
	ApprovePairing = Verb[Code, Pairing]{Spec{
		Method: post, Path: "/pairings", Scope: people.Operate, Within: callWithin, Act: "pair",
		Doc:   "Lets in the person with this code.",
		ended: "the person may or may not have been let in; check `dragoman pair list`, and if not, run the command again",
	}, (*server).approve}
	RefusePairing = Verb[Code, Pairing]{Spec{
		Method: del, Path: "/pairings/{code}", Scope: people.Operate, Within: callWithin, Act: "refuse",
		Doc: "Refuses whoever was given this code: it opens nothing any more. If they write again, they get another code.",
	}, (*server).refusePairing}
	Unpair = Order[Paired]{Spec{
		Method: del, Path: "/pairings/{channel}/{person}", Scope: people.Operate, Within: callWithin, Act: "unpair",
		Doc: "Shuts a person out again.",
	}, (*server).unpair}

	ListPeople = Verb[PeopleQuery, Page[Person]]{Spec{
		Method: get, Path: "/people", Scope: people.Operate, Within: callWithin,
		Doc: "The people who wrote or were let in, and those whose identities on several networks were joined or connected, by name or the identities that match.",
	}, (*server).people}
	ReadPerson = Verb[OneIdentity, Person]{Spec{
		Method: get, Path: "/people/{identity}", Scope: people.Operate, Within: callWithin,
		Doc: "One of them, by any of their identities.",
	}, (*server).onePerson}
	JoinPeople = Order[Identities]{Spec{
		Method: post, Path: "/people", Scope: people.Admin, Within: callWithin, Socket: true, Act: "people join",
		Doc: "Makes one person of the identities `one` and `other`, who then read each other's private talks.",
	}, (*server).joinPeople}
	PartPeople = Order[OneIdentity]{Spec{
		Method: del, Path: "/people/{identity}", Scope: people.Admin, Within: callWithin, Act: "people part",
		Doc:   "Makes an identity a person of its own again.",
		ended: "it may or may not be done; `dragoman people list` shows who is joined",
	}, (*server).partPeople}

	ListTokens = Verb[None, Page[Token]]{Spec{
		Method: get, Path: "/tokens", Scope: people.Admin, Within: callWithin,
		Doc: "The named tokens, also those that ended in the last month, without what lets anybody in.",
	}, (*server).tokens}
	CreateToken = Verb[NewToken, MadeToken]{Spec{
		Method: post, Path: "/tokens", Scope: people.Admin, Within: callWithin, success: http.StatusCreated, Act: "token create",
		Doc:   "Makes a token and shows it, this once. Tokens of other people only at the socket.",
		ended: "the token may or may not have been made; check `dragoman token list`, and if it is there, revoke it, because nobody has seen it",
	}, (*server).createToken}
	RotateToken = Verb[Rotation, MadeToken]{Spec{
		Method: post, Path: "/tokens/{name}/rotate", Scope: people.Admin, Within: callWithin, Act: "token rotate",
		Doc:   "Gives a token a new secret and shows it, this once; the one before is good for a while. Tokens of other people only at the socket.",
		ended: "the token may have a new secret, which nobody has seen; run the command again",
	}, (*server).rotateToken}
	RevokeToken = Verb[TokenName, Token]{Spec{
		Method: del, Path: "/tokens/{name}", Scope: people.Admin, Within: callWithin, Act: "token revoke",
		Doc: "Ends a token, and within five seconds whatever it let in.",
	}, (*server).revokeToken}
	MakeConsoleLink = Verb[None, ConsoleLink]{Spec{
		Method: post, Path: "/console/links", Scope: people.Admin, Within: callWithin, Socket: true, success: http.StatusCreated, Act: "console link",
		Doc: "A link that opens the page once, within a minute, for whoever runs Dragoman.",
	}, (*server).consoleLink}

	ListChannels = Verb[None, Page[Channel]]{Spec{
		Method: get, Path: "/channels", Scope: people.Chat, Within: callWithin,
		Doc: "The channels with their state, and whether each is linked to a phone: for the scope `read`, and for whoever runs Dragoman and shows a token.",
	}, (*server).channels}
	ReadChannelDays = Verb[None, ChannelDays]{Spec{
		Method: get, Path: "/channels/history", Scope: people.Read, Within: callWithin,
		Doc: "The last day of each channel by half hour: connected or not, messages in and out, failures.",
	}, (*server).channelDays}
	Unlink = Verb[ChannelName, Unlinked]{Spec{
		Method: del, Path: "/channels/{name}/link", Scope: people.Admin, Within: patient, Act: "unlink",
		Doc: "Forgets the phone that a channel is linked to.",
	}, (*server).unlink}
	link = Stream[LinkRequest]{Spec{
		Method: post, Path: "/channels/{name}/link", Scope: people.Admin, Act: "link",
		Doc: "Links a channel to a phone, and shows codes to scan or to type, one JSON object a line.",
	}, (*server).link, reflect.TypeFor[linkLine]()}
	readDescription = Verb[None, json.RawMessage]{Spec{
		Method: get, Path: "/openapi.json", Scope: people.Chat, Within: callWithin, anyForm: true,
		Doc: "This table as an OpenAPI 3.1 document.",
	}, (*server).description}
	streamEvents = Stream[EventQuery]{Spec{
		Method: get, Path: "/events", Scope: people.Chat, media: inEvents,
		Doc: "What happens, as server-sent events: all that you may read, or of some conversations and types.",
	}, (*server).events, reflect.TypeFor[Event]()}
	callHook = Stream[HookName]{Spec{
		Method: post, Path: "/hooks/{name}", Within: callWithin, raw: true, media: inJSON, success: http.StatusAccepted, OwnSecret: true,
		Doc: "Calls a webhook of the section `incoming_webhooks`, with any body. A repeat is answered with 200 and leads to nothing more.",
	}, (*server).call, reflect.TypeFor[Called]()}
	PlanErase = Verb[Target, ErasePlan]{Spec{
		Method: get, Path: "/erasures", Scope: people.Admin, Within: patient,
		Doc: "What erasing a conversation or a person would remove.",
	}, (*server).planErase}
	Erase = Verb[Erasure, Erased]{Spec{
		Method: post, Path: "/erasures", Scope: people.Admin, Within: patient, maxBody: maxErasure,
		Doc:   "Erases for good what a plan lists as its `erasure`.",
		ended: "it may be partly done; run the same command again to erase what is left (the daemon also does that when it starts)",
	}, (*server).erase}

	dump = Stream[Keys]{Spec{
		Method: get, Path: "/records", Scope: people.Admin, anyForm: true,
		Doc: "The records of some conversations, one JSON object a line. All of the store, which includes what others wrote, only at the socket.",
	}, (*server).dump, nil}
	restore = Stream[None]{Spec{
		Method: post, Path: "/records", Scope: people.Admin, Socket: true, anyForm: true, raw: true, media: inJSON, Act: "restore",
		Doc:   "Stores records, all or none.",
		ended: "everything stored so far is complete; run the same command again for the rest",
	}, (*server).restore, reflect.TypeFor[Restored]()}
)

// table is the one table of verbs. A verb that is not in it is not served.
var table = []Route{
	ReadStatus.route(), ReadHealth.route(), ReadConfiguration.route(), ReadLog.route(), followLog.route(), ListModels.route(), ListCommands.route(), ReadMe.route(), ListNodes.route(), ReadNumbers.route(), ReadUsage.route(), ReadOwnUsage.route(), ListBudgets.route(), ListOwnBudgets.route(),
	ListFeedback.route(), CountFeedback.route(),
	Find.route(), ReadConversation.route(), ListAgents.route(), ReadMessages.route(), readFile.route(), uploadFile.route(), ListFiles.route(), exportThem.route(), ReadFeed.route(), ReadRunning.route(), ReadSummary.route(), ListGenerations.route(),
	SearchAll.route(), Configure.route(), Rename.route(), MarkRead.route(), MarkUnread.route(), Pin.route(), Unpin.route(), PutQuestion.route(),
	PutPrompt.route(), EditMessage.route(), GiveFeedback.route(), TakeFeedbackBack.route(), StopTurn.route(), AskAgain.route(), BeginAnew.route(), Compact.route(), ReplyByHand.route(), Delete.route(), Join.route(),
	ListFacts.route(), Forget.route(), Correct.route(), PinFact.route(), UnpinFact.route(), UndoMemory.route(),
	ListQueue.route(), ShowQueue.route(), RetryQueue.route(), DropQueue.route(),
	ListApprovals.route(), ReadApproval.route(), AnswerApproval.route(), ListStandings.route(), RevokeStanding.route(), ListToolServers.route(), TestToolServer.route(), AcceptTools.route(), BeginToolLogin.route(), FinishToolLogin.route(), ToolServerLogout.route(), ListSkills.route(), AcceptSkill.route(),
	ListJobs.route(), ListOccurrences.route(), RunJob.route(), PauseJob.route(), ResumeJob.route(),
	MakeReminder.route(), ChangeReminder.route(), CancelReminder.route(), RestoreReminder.route(),
	ListPairings.route(), ApprovePairing.route(), RefusePairing.route(), Unpair.route(),
	ListPeople.route(), ReadPerson.route(), JoinPeople.route(), PartPeople.route(),
	ListTokens.route(), CreateToken.route(), RotateToken.route(), RevokeToken.route(), MakeConsoleLink.route(),
	readDescription.route(), streamEvents.route(), callHook.route(),
	ListChannels.route(), ReadChannelDays.route(), Unlink.route(), link.route(), PlanErase.route(), Erase.route(),
	dump.route(), restore.route(),
}

// Table returns the verbs in the order of the documentation.
func Table() []Route { return append([]Route(nil), table...) }
