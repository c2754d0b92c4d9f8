// The types of Dragoman's API, made from openapi.json by a test. Do not edit.
/** AgentChoice is a persona that may answer in a conversation. */
export interface AgentChoice {
  /** Answers says that it answers there now. */
  answers?: boolean;
  /** Model is the one that it names; "": as elsewhere. */
  model?: string;
  /** dragoman is the one of the section agent */
  name: string;
}
/** Page is one page of a list. */
export interface AgentChoicePage {
  /** never null */
  data: (AgentChoice)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Approval is a call of a tool that somebody was asked about. */
export interface Approval {
  /** it was */
  always?: boolean;
  /** Arguments are those of the call, as JSON: at most 12,000 characters of Length. In a list, those in talks that the caller reads along are left out. */
  arguments: string;
  asked: string;
  /** who decided */
  by?: string;
  by_name?: string;
  /** Code is what people write to answer it in the chat. */
  code: string;
  decided?: string;
  id: string;
  /** where it is asked */
  key: Key;
  length: number;
  /** MayAlways: it can be allowed for the future, too. */
  may_always?: boolean;
  /** Mine: the caller may answer it. */
  mine?: boolean;
  /** Parts are the arguments one by one, what decides most first. A call that is described in words has none. */
  parts?: (ApprovalPart)[];
  /** Requester is for whom it is done: an identity like telegram:42. */
  requester: string;
  /** State is pending, allowed, used, denied, expired or closed. */
  state: string;
  tool: string;
  turn: string;
  until: string;
  /** it is asked about */
  why: string;
}
/** Page is one page of a list. */
export interface ApprovalPage {
  /** never null */
  data: (Approval)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** ApprovalPart is one argument of a call. */
export interface ApprovalPart {
  length: number;
  name: string;
  /** Value is text, or JSON of what is none: the first of Length characters. */
  value: string;
}
/** Asked is a question and its answer. */
export interface Asked {
  answer: string;
  id: string;
  key: Key;
}
/** Attachment is a file that came with a message. What a network needs to fetch it, which can hold keys, is not shown. */
export interface Attachment {
  bytes?: number;
  /** the name of our copy */
  file?: string;
  kind: string;
  /** Missing says in a few words why there is no file. */
  missing?: string;
  /** the sender's; never a path */
  name?: string;
  /** MIME type, as the network says */
  type?: string;
}
/** Budget is how much of something may be used until a time: see limits.budgets. */
export interface Budget {
  limit: number;
  name?: string;
  /** Of is person, chat, job or all, and Name whose it is: an identity, or the one that stands for all that were joined with it, a conversation's key, or a job. */
  of: string;
  /** Period is day or month, and Unit money or tokens. */
  period: string;
  /** Reserved is for calls of the model that run on the node that answers. */
  reserved: number;
  /** Share is how much of Limit was used: 1 is all of it. */
  share: number;
  unit: string;
  /** Until is when it begins anew. */
  until: string;
  used: number;
}
/** Page is one page of a list. */
export interface BudgetPage {
  /** never null */
  data: (Budget)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Called is a call of a webhook that was taken. */
export interface Called {
  hook: string;
  /** ID is the one that the call named. */
  id?: string;
  /** Repeated: it was taken before, and leads to nothing more. */
  repeated?: boolean;
}
/** Channel is a configured channel with its state. */
export interface Channel {
  /** Detail is one short sentence: why, and what to do. */
  detail?: string;
  /** Linkable: its account lives on a phone. Linked: it has one. */
  linkable: boolean;
  linked: boolean;
  /** as the configuration calls it */
  name: string;
  /** Node is the node that runs it; "" if every node does or there is only one. */
  node?: string;
  /** Reason is one word, from a short list: "banned". It is empty if State says it all. */
  reason?: string;
  since: string;
  state: string;
  type: string;
  /** Unused says that nobody has set the channel up, and that nothing is wrong. */
  unused?: boolean;
}
/** ChannelDay is the last day of a channel: each list has 48 values, the last one of the half hour that is not over. Several nodes are added up. */
export interface ChannelDay {
  /** Connected is how much of the half hour it was connected, 0 to 1; null: nobody looked, because Dragoman did not run. */
  connected: (number | null)[];
  failed: (number)[];
  /** In are messages of people, Out messages that the network took, and Failed attempts to deliver that failed. */
  in: (number)[];
  name: string;
  out: (number)[];
  type: string;
}
/** ChannelDays are what the channels did in the last day. */
export interface ChannelDays {
  /** Channels are those of the configuration, by name. */
  channels: (ChannelDay)[];
  /** EverySeconds is how long each value of a ChannelDay counts for, and From when the first one begins. */
  every_seconds: number;
  from: string;
}
/** Page is one page of a list. */
export interface ChannelPage {
  /** never null */
  data: (Channel)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** ChannelStatus is how a channel is. */
export interface ChannelStatus {
  /** Detail is one short sentence: why, and what to do. */
  detail?: string;
  /** Reason is one word, from a short list: "banned". It is empty if State says it all. */
  reason?: string;
  since: string;
  state: string;
  /** Unused says that nobody has set the channel up, and that nothing is wrong. */
  unused?: boolean;
}
/** Command is a word that does something in a conversation, like /stop. */
export interface Command {
  help: string;
  /** Name is without the slash, and Help a line about what it does. */
  name: string;
}
/** Page is one page of a list. */
export interface CommandPage {
  /** never null */
  data: (Command)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Configuration is the configuration that counts, to read. */
export interface Configuration {
  /** File is where it is; "" for the built-in defaults. */
  file?: string;
  refused_reload?: RefusedReload;
  /** Restart are the settings of a newer file that was taken, and that count only after a restart. */
  restart: (string)[];
  settings: (SettingNow)[];
  /** Warnings are what `dragoman check` finds in it, and Refused the problems of a newer one that was not taken. */
  warnings: (Finding)[];
}
/** ConsoleLink opens the page once. */
export interface ConsoleLink {
  expires: string;
  url: string;
}
/** Conversation is the head of a conversation. */
export interface Conversation {
  /** Agent is the persona that was chosen to answer; "": as configured. */
  agent?: string;
  answering?: boolean;
  created?: string;
  /** Cursor is the "after" of the page that begins behind it, in lists. */
  cursor?: string;
  /** Derived is the beginning of the first message, for a conversation without a title. It is not stored. */
  derived_title?: string;
  /** the current one; "" before the first message */
  generation: string;
  given_up?: number;
  group?: boolean;
  key: Key;
  /** Last is what was said last, if the caller may read it. */
  last?: LastLine;
  /** over all generations */
  message_count: number;
  metadata?: { [name: string]: unknown };
  /** instead of the configured one */
  model?: string;
  /** Network is the type of its channel, Group says that several people read it, and Own that it is one of the caller's. Readable: they may read what was said there, if it is not theirs by reading along. */
  network?: string;
  own?: boolean;
  pinned?: boolean;
  readable?: boolean;
  /** Reasoning is how much the model should think; "": as configured. */
  reasoning?: string;
  /** instead of the configured one */
  system_prompt?: string;
  /** sorted, each once */
  tags?: (string)[];
  title?: string;
  total_tokens: number;
  /** Unread is how many of its messages are new to the caller, without their own among the newest hundred of them, and Pinned whether they pinned it. */
  unread?: number;
  updated?: string;
  usage: Usage;
  /** Waiting is how many messages have no answer yet, and Answering says that a turn has begun to answer some of them. GivenUp is how many deliveries were given up. */
  waiting?: number;
}
/** Page is one page of a list. */
export interface ConversationPage {
  /** never null */
  data: (Conversation)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Day counts the messages of one day, UTC. */
export interface Day {
  conversations: number;
  /** 2026-11-21 */
  day: string;
  messages: number;
  usage: Usage;
}
/** Decision is what became of an answer. */
export interface Decision {
  approval: Approval;
  /** Changed: the answer counted. Else it was settled before, as Approval says. */
  changed: boolean;
  /** the same in words */
  text: string;
}
/** ErasePlan is what an erasure would remove. */
export interface ErasePlan {
  /** Conversations are removed as a whole. */
  conversations: (ErasedConversation)[];
  counts?: number;
  /** Elsewhere are other stores, which are not in use and are not erased from. */
  elsewhere?: (string)[];
  erasure: Erasure;
  facts: number;
  /** Joined are the identities that are erased with the target because they were joined into one person: see ListPeople. */
  joined?: (string)[];
  /** Maybe are ids that may belong to the person or to somebody else. Their data is kept. */
  maybe?: (Namesake)[];
  /** Names are keys without any data. They are removed, too. */
  names?: (Key)[];
  /** Notes are what subjects keep of the person or chat: tokens, reminders and the like. Counts are sums by day. */
  notes?: number;
  pairings: number;
  /** messages and deliveries, done ones included */
  queued: number;
  /** Shared are conversations in which only the person's messages are replaced. */
  shared: (SharedPart)[];
  /** Unfinished is when an interrupted erasure began. It is finished before this one. */
  unfinished?: string;
}
/** Erased counts what an erasure removed. */
export interface Erased {
  conversations: number;
  /** sums */
  counts?: number;
  facts: number;
  /** Files are the attachments that were deleted. */
  files?: (string)[];
  /** Left has a sentence for each file outside the store that may still hold erased data: its name and the remedy. */
  left?: (string)[];
  messages: number;
  /** entries in the channels' own files */
  noted: number;
  notes?: number;
  pairings: number;
  /** inbox and outbox rows, done ones included */
  queued: number;
  summaries: number;
}
/** ErasedConversation is a conversation that an erasure removes. */
export interface ErasedConversation {
  key: Key;
  message_count: number;
  title?: string;
}
/** Erasure names what to erase for good; sessions.Erasure says what each part means. */
export interface Erasure {
  files?: (string)[];
  keys?: (Key)[];
  /** of notes and counts */
  owners?: (string)[];
  scopes?: (string)[];
  senders?: (Sender)[];
}
/** Event is one event of a stream. What does not apply is left out. */
export interface Event {
  /** At is when it happened. It is left out of a change that the caller missed, if only the state after it is known. */
  at?: string;
  attempts?: number;
  cached_tokens?: number;
  call?: string;
  /** Channel and Model name what failed or works again. */
  channel?: string;
  cost?: number;
  covered?: number;
  /** CoversSeq is the last message that a summary covers, Covered how many it covers. */
  covers_seq?: number;
  /** Delivery is the id of a delivery, as networks get it. */
  delivery?: string;
  due?: string;
  /** see EventTypes */
  event: "message_accepted" | "delivery_changed" | "job_done" | "turn_begun" | "turn_joined" | "text" | "thought" | "tool_begun" | "tool_ended" | "turn_done" | "settled" | "session_create" | "session_save" | "session_delete" | "session_change" | "mark_change" | "feedback_change" | "approval_change" | "memory_change" | "job_change" | "context_compacted" | "delivery_dead" | "pairing_change" | "people_change" | "token_change" | "settings_change" | "channel_failed" | "channel_back" | "channel_change" | "measured" | "model_down" | "model_back" | "disk_full" | "hello" | "reset" | "ended";
  generation?: string;
  id?: string;
  input_tokens?: number;
  /** Job and Due name a due time. */
  job?: string;
  /** Key is the conversation that it is about. */
  key?: Key;
  /** Messages counts the stored messages, or those before a summary. */
  messages?: number;
  model?: string;
  new_tokens?: number;
  /** Offset is where in the answer Text begins, in UTF-16 code units, as JavaScript counts. So whoever has read Running.Text knows what of an event is new. */
  offset?: number;
  /** OldTokens and NewTokens are estimates for the conversation before and with a summary. */
  old_tokens?: number;
  /** Outcome is that of a turn: answered, failed, postponed, interrupted, cancelled, refused or skipped; or that of a due time. */
  outcome?: string;
  output_tokens?: number;
  savings_percent?: number;
  /** Seq is the number of the message or of the delivery among those of Key, and ID its own id. */
  seq?: number;
  /** State is the present one of a delivery. */
  state?: string;
  /** model calls */
  steps?: number;
  /** Text is what came to the answer or the thoughts of Turn. */
  text?: string;
  took_ms?: number;
  /** Tool is the name of a tool, and Call the id of its call. */
  tool?: string;
  turn?: string;
  /** one word */
  why?: string;
}
/** failure is a refusal as a line of a stream, whose status was sent long before. */
export interface Failure {
  /** see codes */
  code?: string;
  error: string;
}
/** Feature is something that Dragoman can do where the configuration and the machine allow it: commands, searching the web, an MCP server. */
export interface Feature {
  /** Name is what the documentation and the configuration call it: "exec". */
  name: string;
  /** Says is a sentence for whoever runs Dragoman: how it is on, or why not and what would change that. */
  says: string;
  /** Since is when a service began to fail that worked before, or was not called before. */
  since?: string;
  state: string;
}
/** FeedItem is a message of a person, or one that was or will be sent, as its network has it. */
export interface FeedItem {
  at: string;
  attachments?: (Attachment)[];
  /** "person" or "dragoman" */
  from: string;
  id: string;
  /** Kind is why it was sent: answer, command, notice, job, apology, question or form. */
  kind?: string;
  name?: string;
  part?: number;
  parts?: number;
  /** Seq is its number among the rows of this conversation, as events name it. It is another one than that of a Message. */
  seq: number;
  /** State is how far a delivery is: queued, sending, sent or unknown. What was given up is in the queue, not here. */
  state?: string;
  text: string;
  /** Turn is the turn that it answers, of which it is part Part of Parts. */
  turn?: string;
  /** Waiting: a person's message has no answer yet. */
  waiting?: boolean;
}
/** Page is one page of a list. */
export interface FeedItemPage {
  /** never null */
  data: (FeedItem)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Feedback is what somebody thinks of an answer. */
export interface Feedback {
  at: string;
  note?: string;
  /** up or down */
  value: string;
}
/** Figures are those of the last hour. Each list has as many values, one for each every_seconds since From; null: nothing was measured, or the node did not run. Ages and durations are in seconds. */
export interface Figures {
  commit_p50: (number | null)[];
  commit_p95: (number | null)[];
  /** Commits are those of messages, steps and turns. */
  commits: (number | null)[];
  /** CPU is how many cores were in use since the value before. */
  cpu: (number | null)[];
  /** Failed are attempts to deliver that failed since the value before. */
  failed: (number | null)[];
  from: string;
  goroutines: (number | null)[];
  /** MemoryBytes is the resident memory. */
  memory_bytes: (number | null)[];
  /** ModelCalls is how many calls of models ended since the value before, and ModelP50 and ModelP95 how long half of them and 95 % of them took at most. */
  model_calls: (number | null)[];
  model_p50: (number | null)[];
  model_p95: (number | null)[];
  oldest_unsent: (number | null)[];
  oldest_waiting: (number | null)[];
  /** TurnsRunning are turns, and TurnsWaiting those that wait for a free place (agent.max_turns). */
  turns_running: (number | null)[];
  turns_waiting: (number | null)[];
  unsent: (number | null)[];
  /** Waiting are messages without an answer, Unsent answers that are not delivered: how many, and the age of the oldest. All nodes that share a store see the same ones. */
  waiting: (number | null)[];
}
/** Finding is something doubtful in a configuration. */
export interface Finding {
  file?: string;
  line?: number;
  path?: string;
  /** what to write instead */
  want?: string;
  what: string;
}
/** Generation is one stretch of a conversation, from one /new to the next. */
export interface Generation {
  began: string;
  first_seq: number;
  /** YYYYMMDD_NNN, UTC; NNN has three digits or more */
  id: string;
  /** FirstSeq-1 while it is empty */
  last_seq: number;
}
/** Page is one page of a list. */
export interface GenerationPage {
  /** never null */
  data: (Generation)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** GivenFeedback is feedback in the list of all. */
export interface GivenFeedback {
  at: string;
  /** Key is the conversation in which it was given, and Seq the answer, left out if that is no longer there, or has moved into another conversation. Turn gave the answer. */
  key: Key;
  /** that wrote the answer */
  model?: string;
  /** Note is left out if the caller may not read the conversation. */
  note?: string;
  /** Person gave it: an identity, or the one that stands for all that were joined with it. */
  person: string;
  seq?: number;
  turn: string;
  /** up or down */
  value: string;
}
/** Page is one page of a list. */
export interface GivenFeedbackPage {
  /** never null */
  data: (GivenFeedback)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** HealthReport is how all is, and how it was in the last hour. */
export interface HealthReport {
  /** EverySeconds is the time between two values of Figures. */
  every_seconds: number;
  /** Nodes are this one and those that share its store. */
  nodes: (NodeFigures)[];
  /** Status is what the verb status says. */
  status: Status;
}
/** Hit is a message found by a search. */
export interface Hit {
  /** Cursor is the "after" of the next page. */
  cursor: string;
  key: Key;
  /** Marks are where the content has them: the first hundred. */
  marks: (Mark)[];
  message: Message;
  /** Words counts the different query words in the message. */
  words: number;
}
/** Page is one page of a list. */
export interface HitPage {
  /** never null */
  data: (Hit)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Job is a job as lists show it: a configured one, or a reminder that somebody made, whose name is like telegram:42/r7. */
export interface Job {
  /** Last is the newest recorded occurrence. */
  last?: Occurrence;
  name: string;
  next?: string;
  /** Own: it is a reminder of the caller. Only they see its Text; with Prompt it is a task. */
  own?: boolean;
  /** Paused is why it does not run; "": it does. */
  paused?: string;
  prompt?: boolean;
  reminder?: boolean;
  /** "every 30m", "0 8 * * * Europe/Rome"; of reminders in words */
  schedule: string;
  target: string;
  text?: string;
  /** Upcoming are the due times of the next 24 hours, at most 96. */
  upcoming?: (string)[];
}
/** Page is one page of a list. */
export interface JobPage {
  /** never null */
  data: (Job)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** A conversation, like telegram:123456. */
export type Key = string;
/** LastLine is the beginning of the newest message of a conversation. */
export interface LastLine {
  at: string;
  /** File is the kind of the first file that came with it, like "image", if nothing else was said. */
  file?: string;
  /** "person" or "dragoman" */
  from: string;
  kind?: string;
  /** of the person */
  name?: string;
  /** State is how far a delivery is, and Kind why it was sent: see FeedItem. */
  state?: string;
  /** a line of 160 bytes at most, or a word for a file */
  text: string;
}
/** Lease is what one node has at a time, like "channel:telegram". */
export interface Lease {
  name: string;
  since: string;
}
/** linkLine is one line of the answer: an invitation, or the end. */
export interface LinkLine {
  account?: string;
  code?: string;
  failure?: Failure;
  picture?: Picture;
  qr?: string;
}
/** Linked is an identity of a person. */
export interface Linked {
  /** Connected: the person did it themselves, with /connect. Then their identities have one memory and different rights. */
  connected: boolean;
  identity: string;
  /** Since is when it became one of several. */
  since: string;
}
/** ListedFile is a file that came with a message. */
export interface ListedFile {
  at: string;
  bytes?: number;
  /** the name of our copy */
  file?: string;
  /** From is the name of who sent it, Sender their immutable id, and At when. */
  from?: string;
  /** Key, Seq and N are its address: conversations/{key}/messages/{seq}/files/{n}. */
  key: Key;
  kind: string;
  /** Missing says in a few words why there is no file. */
  missing?: string;
  n: number;
  /** the sender's; never a path */
  name?: string;
  sender?: string;
  seq: number;
  /** Text is the beginning of its message. */
  text?: string;
  /** MIME type, as the network says */
  type?: string;
}
/** Page is one page of a list. */
export interface ListedFilePage {
  /** never null */
  data: (ListedFile)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** LogRecord is one record of the log. */
export interface LogRecord {
  at: string;
  /** Facts are its attributes as text: key, channel, msg_id, job, attempt, err and others. */
  facts: { [name: string]: string };
  /** ID is what After takes. One of an earlier process means: from the beginning. */
  id: string;
  /** debug, info, warn or error */
  level: string;
  /** Lost is how many records before this one were dropped before the caller could see them. */
  lost?: number;
  message: string;
}
/** Page is one page of a list. */
export interface LogRecordPage {
  /** never null */
  data: (LogRecord)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** MadeToken is a token with its secret, which is shown this once. */
export interface MadeToken {
  /** Begins are the first characters of the token. */
  begins?: string;
  created: string;
  /** zero: when it is revoked */
  expires?: string;
  /** Grace is until when the secret before a rotation is good. */
  grace?: string;
  /** LastUsed is rounded down to the hour. */
  last_used?: string;
  name: string;
  /** Page: it is a page that a one-time link opened, and has no secret. */
  page?: boolean;
  person: string;
  revoked?: string;
  scope: string;
  secret: string;
}
/** Mark is a part of a message's content, in UTF-16 code units, as JavaScript counts them: content.slice(start, start + length). */
export interface Mark {
  length: number;
  start: number;
}
/** Me is who asks, and what they may do. */
export interface Me {
  /** Home is their first room on the page. With another name in the place of "default" it is another room of theirs. */
  home?: Key;
  /** Identities are those under which they write, one of each network or several. At a port without tokens, where nobody shows who they are, only the names that rooms have for them. */
  identities: (string)[];
  /** MaxFile is how large a file of theirs may be, in bytes; left out: files cannot be sent. */
  max_file?: number;
  name: string;
  /** Person is "operator", or an identity of a network like telegram:42, and Name what people call them. */
  person: string;
  scope: "chat" | "read" | "operate" | "admin";
  /** Token is the name of the token that was shown; "": none was. */
  token?: string;
  version: string;
}
/** Message is one entry of a transcript. What a provider attached to it for itself is not shown. */
export interface Message {
  at: string;
  attachments?: (Attachment)[];
  content: string;
  /** Extra has the fields of an imported message that Dragoman does not know. */
  extra?: { [name: string]: unknown };
  /** Failed marks the result of a tool call that failed and had no effect. */
  failed?: boolean;
  /** Feedback is what the caller thinks of an answer. */
  feedback?: Feedback;
  /** Kind is again, for a question that is asked once more, stopped, for an answer that a person stopped, or plain, which is as good as none: most messages have none. */
  kind?: string;
  model?: string;
  /** Name is the sender's display name (user) or the tool's name (tool). */
  name?: string;
  /** Origins are whose words it has beside the sender's: model, memory, others, web, file, mcp:NAME, hook:NAME or skill:NAME@HASH; and history or sent, if it copies what the conversation has. */
  origins?: (string)[];
  /** ReplacedBy is the seq of the note that replaced the message: people see both, the model neither. The new text is the next message of a person after the note. */
  replaced_by?: number;
  /** Replaces, in such a note, is the seq of the first message that it replaced; the last is right before the note. */
  replaces?: number;
  role: string;
  /** Said is what people are shown, where Content has more, for the model: in a group the sender's name, lines about files, that an answer was stopped. */
  said?: string;
  /** Sender is the immutable id of the person who wrote a user message. */
  sender?: string;
  /** Seq orders the messages of one conversation; 0 while its turn runs. */
  seq: number;
  /** Summary marks an imported message that replaces older ones. */
  summary?: boolean;
  /** Synthetic marks a note that neither a person nor a model wrote. */
  synthetic?: boolean;
  tool_call_id?: string;
  tool_calls?: (ToolCall)[];
  turn?: string;
  usage?: Usage;
  /** Via is through what a user message came: empty for the chat's own network, else api, mcp, hook:NAME, others, or reply: whoever Name is wrote it into the talk of others. */
  via?: string;
}
/** Page is one page of a list. */
export interface MessagePage {
  /** never null */
  data: (Message)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** ModelChoice is a model that a prompt or a conversation may name. */
export interface ModelChoice {
  /** Default says that it answers where nothing else is said. */
  default?: boolean;
  /** Input and Output are what a million tokens cost, in the currency of the configured prices, left out where there are none. */
  input?: number;
  name: string;
  output?: number;
  /** Window is its context window in tokens, left out if that is not known. */
  window?: number;
}
/** Page is one page of a list. */
export interface ModelChoicePage {
  /** never null */
  data: (ModelChoice)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** ModelFeedback counts what people think of the answers of a model. */
export interface ModelFeedback {
  down: number;
  model: string;
  up: number;
}
/** Page is one page of a list. */
export interface ModelFeedbackPage {
  /** never null */
  data: (ModelFeedback)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Namesake is somebody who may be the person. */
export interface Namesake {
  /** Chats are the conversations in which the namesake wrote. */
  chats?: (Key)[];
  /** Person is "channel:id", a target for an erasure. */
  person: string;
}
/** Node is one process that works on the store. */
export interface Node {
  /** Chats is how many conversations it works on now. */
  chats: number;
  /** Configuration is a hash of its configuration, without what is about one machine. Nodes should have the same. */
  configuration?: string;
  holds: (Lease)[];
  /** node.name, or the machine's */
  host?: string;
  id: string;
  /** LagS is how long ago it last reported that it lives. */
  lag_seconds: number;
  roles: (string)[];
  /** this node answers */
  self?: boolean;
  since: string;
  version?: string;
}
/** NodeFigures are the figures of one node. */
export interface NodeFigures {
  figures?: Figures;
  host?: string;
  /** Node is its id among `nodes`, and Host its name there. Both are empty if the store is not shared. */
  node?: string;
  /** Problem is why its figures are not here. */
  problem?: string;
  /** this node answers */
  self?: boolean;
}
/** Nodes are the nodes that work on the store. */
export interface Nodes {
  nodes: (Node)[];
  /** Shared is false for a store that only one node can open. Then Nodes is empty. */
  shared: boolean;
  /** its type */
  store?: string;
}
/** Numbers are statistics of the conversations. */
export interface Numbers {
  /** the last seven, without gaps */
  days: (Day)[];
  /** by tokens */
  top: (Conversation)[];
}
/** Occurrence is one due time of one job, with its outcome. */
export interface Occurrence {
  /** when the outcome was written */
  at: string;
  due: string;
  job: string;
  /** Outcome is "fired", "ran", "silent", "failed", "skipped", "missed", or "waiting": it ran, and its text could not be delivered yet. */
  outcome: string;
  why?: string;
}
/** Page is one page of a list. */
export interface OccurrencePage {
  /** never null */
  data: (Occurrence)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** OtherTrouble is trouble with a model other than the configured one. */
export interface OtherTrouble {
  at: string;
  in_a_row: number;
  model: string;
  why: string;
}
/** Pairing is a person whom the operator approved, or who asks for that. */
export interface Pairing {
  approved?: string;
  channel: string;
  /** while not approved */
  code?: string;
  expires?: string;
  name?: string;
  person_id: string;
}
/** Page is one page of a list. */
export interface PairingPage {
  /** never null */
  data: (Pairing)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Person is somebody: an identity, or several that were joined or connected. */
export interface Person {
  /** ID is "operator", an identity, or a name that says nothing. */
  id: string;
  identities: (string)[];
  /** Links say more of each of Identities, in their order, if there are several. */
  links: (Linked)[];
  /** Name is what they said when they asked to be let in, what they are called where they write to Dragoman alone, or what that conversation is called, if the caller may read it. Left out: nobody knows. */
  name?: string;
  /** Seen is when something happened last in a private conversation of theirs. */
  seen?: string;
}
/** Page is one page of a list. */
export interface PersonPage {
  /** never null */
  data: (Person)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Picture is a QR code to draw: the dark modules as the path of an SVG, one unit for each module, without the light border of four modules that scanners need. */
export interface Picture {
  path: string;
  /** Size is how many modules it has in each direction. */
  size: number;
}
/** QueueItem is an entry of inbox, outbox or quarantine. */
export interface QueueItem {
  at: string;
  attempts: number;
  bytes: number;
  /** Delivery is the id of an "out" that events and hooks have. The queue accepts it, too. */
  delivery?: string;
  error?: string;
  /** "in/telegram:5/12", "out/telegram:5/13", "aside/irc/ID" */
  id: string;
  /** the channel alone, if the chat is not known */
  key: string;
  /** "in", "out", "aside" */
  kind: string;
  not_before?: string;
  state: string;
  /** of a single entry only */
  text?: string;
}
/** Page is one page of a list. */
export interface QueueItemPage {
  /** never null */
  data: (QueueItem)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
export interface Refusal {
  error: {
    /** The word on which programs branch. */
    code: string;
    /** A sentence for people. */
    message: string;
    /** The argument that is wrong. */
    param: string | null;
    type: "invalid_request_error" | "rate_limit_error" | "server_error";
  };
}
/** RefusedReload is a configuration that the daemon was asked to read and did not take. */
export interface RefusedReload {
  at: string;
  /** Why are its problems, one a line of its file, and never empty. */
  why: (string)[];
}
/** Remembered is one fact in the memory of a chat or a person. */
export interface Remembered {
  at: string;
  /** From is the conversation that it was said in; it is left out where nobody knows. */
  from?: string;
  id: number;
  /** Origins are whose words it is, beside the person's: as in Message. */
  origins?: (string)[];
  /** Pinned facts come first in a prompt. */
  pinned?: boolean;
  /** Scope is "chat:" and a key, or "person:", channel and id; before that "agent:", a persona and ":", if only that one remembers it. */
  scope: string;
  text: string;
}
/** Page is one page of a list. */
export interface RememberedPage {
  /** never null */
  data: (Remembered)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Repeat says when something repeats, in the words of a calendar. */
export interface Repeat {
  count?: number;
  /** Days depend on Freq. Weekly: mo to su. Monthly and yearly: 15, -1 (the last), 2mo, -1fr. */
  days?: (string)[];
  /** daily, weekly, monthly or yearly */
  freq: string;
  interval?: number;
  /** Times are times of day, like 16:00. */
  times?: (string)[];
  /** the last day */
  until?: string;
}
/** Restored is how much was stored. */
export interface Restored {
  /** each with all that belongs to it */
  conversations: number;
  /** Others counts records that belong to no conversation and were not in the store. */
  others: number;
}
/** Running is an unfinished turn: it runs now, or will resume after a crash. */
export interface Running {
  /** Messages are those that it answers and its own so far, as they will be in the transcript, but without a seq. Before its first step there are none: the feed has what people wrote. */
  messages: (Message)[];
  /** Text is what people can read of its answer so far, with the words of Messages. It is left out before the first word, and where the turn runs on another node. The events "text" go on from here: see their offset. */
  text?: string;
  /** "": there is none */
  turn: string;
}
/** Said is a message that was taken. */
export interface Said {
  /** with which it is safe to repeat */
  id: string;
  key: Key;
  /** Repeated: it was taken before, with the same id. */
  repeated?: boolean;
  row: string;
  /** Seq and Row are the seq and id by which events and the feed name it. */
  seq: number;
}
/** Sender is a person on a channel. */
export interface Sender {
  channel: string;
  id: string;
}
/** SentFile is an uploaded file in a message, with the name and MIME type of its sender. */
export interface SentFile {
  name?: string;
  ref: string;
  /** Seconds is how long a voice message is. It makes a sound one: set it only for what the sender recorded for this message. */
  seconds?: number;
  type?: string;
}
/** SettingNow is one setting as it counts. */
export interface SettingNow {
  line?: number;
  /** "http.listen" */
  path: string;
  /** Source is "file", "environment" (the file names a variable there) or "default", and Line where the file has it. */
  source: string;
  /** as in YAML; secrets are hidden */
  value: string;
}
/** Settings are a conversation's own. */
export interface Settings {
  /** Agent is the persona that was chosen to answer; "": as configured. */
  agent?: string;
  metadata?: { [name: string]: unknown };
  /** instead of the configured one */
  model?: string;
  /** Reasoning is how much the model should think; "": as configured. */
  reasoning?: string;
  /** instead of the configured one */
  system_prompt?: string;
  /** sorted, each once */
  tags?: (string)[];
}
/** SharedPart is a person's part of a conversation with others. */
export interface SharedPart {
  /** Facts counts the memory of that chat. It is kept, because it does not say which facts come from the person. */
  facts?: number;
  key: Key;
  messages: number;
}
/** Skill is a skill as it is now. */
export interface Skill {
  bytes: number;
  /** its own words */
  description?: string;
  /** Files and Bytes are how much there is, and Tokens about how many its instructions have. */
  files: number;
  /** Hash is of the whole folder: whoever accepts it says what they have read. */
  hash?: string;
  /** Hints are what to look at before it is accepted. They are no verdict. */
  hints?: (string)[];
  name: string;
  /** State is accepted, new, changed (another version was accepted), wrong (it cannot be accepted), or gone (it was accepted, and is not there). */
  state: string;
  tokens: number;
  /** it is wrong */
  why?: string;
}
/** Page is one page of a list. */
export interface SkillPage {
  /** never null */
  data: (Skill)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Standing is a call that is always allowed in a conversation. */
export interface Standing {
  /** as JSON, perhaps cut */
  arguments: string;
  at: string;
  by: string;
  id: string;
  key: Key;
  tool: string;
}
/** Page is one page of a list. */
export interface StandingPage {
  /** never null */
  data: (Standing)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Status is Info and the state of the queues. */
export interface Status {
  /** Agents say in lines which personas are bound where. */
  agents?: (string)[];
  /** that Unsent belong to: one on IRC can be a hundred lines */
  answers?: number;
  channels?: { [name: string]: ChannelStatus };
  /** where it came from, for people */
  config?: string;
  /** ConfigFile is the path of the configuration, or "" for the built-in defaults. */
  config_file?: string;
  dead?: number;
  /** DiskFull says that one of the warnings is about the disk. */
  disk_full?: boolean;
  /** Features say what is on in a running daemon, and why the rest is not; by name. */
  features?: (Feature)[];
  listen?: string;
  model?: string;
  /** ModelTrouble is nil unless the model's last call failed. */
  model_trouble?: Trouble;
  /** Nodes are those that share the store, if several can. */
  nodes?: (Node)[];
  /** of Waiting; zero if none */
  oldest?: string;
  /** of Unsent; zero if none */
  oldest_send?: string;
  oldest_turn_seconds?: number;
  /** OpenAI says that OpenAI's API is served at Listen, below /v1. */
  openai?: boolean;
  /** OtherTroubles are those of models for summaries and of models that conversations name. */
  other_troubles?: (OtherTrouble)[];
  pid?: number;
  policy?: (string)[];
  /** of Waiting, not due yet */
  postponed?: number;
  /** Problem is why the store cannot write, or "". */
  problem?: string;
  quarantined?: number;
  /** Refused is the last reload, if it was refused, so that an older configuration counts. */
  refused_reload?: RefusedReload;
  /** Running is false if no daemon runs and the command opened the store itself. */
  running: boolean;
  started?: string;
  state_dir?: string;
  store?: string;
  turns: number;
  /** of Unsent, possibly sent already */
  unknown?: number;
  /** deliveries that are queued, sending or unknown */
  unsent?: number;
  version: string;
  /** inbox messages without an answer */
  waiting?: number;
  warnings?: (string)[];
}
/** Summary replaces, for the model, the messages of one generation up to CoversSeq. */
export interface Summary {
  at: string;
  covers_seq: number;
  /** Fields is the structured form of Text, a JSON object, if the summary format has one. */
  fields?: unknown;
  generation: string;
  model?: string;
  /** Origins are whose words it has: as in Message. */
  origins?: (string)[];
  text: string;
}
/** Token is a named token in a list. Nothing in it lets anybody in. */
export interface Token {
  /** Begins are the first characters of the token. */
  begins?: string;
  created: string;
  /** zero: when it is revoked */
  expires?: string;
  /** Grace is until when the secret before a rotation is good. */
  grace?: string;
  /** LastUsed is rounded down to the hour. */
  last_used?: string;
  name: string;
  /** Page: it is a page that a one-time link opened, and has no secret. */
  page?: boolean;
  person: string;
  revoked?: string;
  scope: string;
}
/** Page is one page of a list. */
export interface TokenPage {
  /** never null */
  data: (Token)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** ToolCall is one call that the model asked for. */
export interface ToolCall {
  /** Arguments are as the model wrote them: usually, but not always, JSON. */
  arguments: string;
  id: string;
  name: string;
}
/** ToolListed is a tool of a server, compared with what was accepted. */
export interface ToolListed {
  /** Before and Now are JSON: what was accepted, and what it says now. */
  before?: string;
  /** Change is new, changed, gone, or unread (it was in the first list, which counts as accepted, and nobody has looked). Left out: it is as it was accepted. */
  change?: string;
  description?: string;
  /** by which the model knows it */
  name: string;
  now?: string;
  /** its server does */
  own: string;
}
/** ToolLogin is a link with which a person logs in at a server of tools. */
export interface ToolLogin {
  /** Redirect is an address of the machine with the browser, to which it is sent then. What comes there answers the link. */
  redirect: string;
  until: string;
  /** for a browser */
  url: string;
}
/** ToolLogout is what became of the tokens of a login. */
export interface ToolLogout {
  /** there were some */
  had: boolean;
  /** the authorization server has dropped them, too */
  told: boolean;
}
/** ToolReport is what a test of a server found. */
export interface ToolReport {
  /** Digest stands for all of Tools: whoever accepts them says what they have read. */
  digest?: string;
  dropped?: (string)[];
  errors?: (string)[];
  /** Odd says what was left out, and Dropped and Errors are the last lines that its program wrote beside messages: foreign words. */
  odd?: (string)[];
  /** how it calls itself */
  program?: string;
  /** its revision */
  protocol?: string;
  server: string;
  tools: (ToolListed)[];
  /** Why says why it does not work; "": it does. */
  why?: string;
}
/** ToolServer is a server of tools as lists show it. */
export interface ToolServer {
  /** Login is that at a server which wants OAuth. */
  login?: ToolServerLogin;
  name: string;
  /** Since is when its first tools were accepted. */
  since?: string;
  /** State is idle (the next call starts it), starting, running, failed, or stopped if no daemon runs. */
  state: string;
  /** Tools are offered. Of Unread of them, nobody has read how they describe themselves, so people are asked as after foreign words. Waiting are new or changed ones that nobody has accepted. */
  tools: number;
  unread?: number;
  waiting?: (string)[];
  /** Where is its program or its address. */
  where: string;
  /** it failed */
  why?: string;
}
/** ToolServerLogin is how the login at a server is. */
export interface ToolServerLogin {
  renews?: boolean;
  /** Until is when the token ends, and Renews says that it is refreshed without a person. */
  until?: string;
  /** Why says that somebody must log in. Left out: nobody must. */
  why?: string;
}
/** Page is one page of a list. */
export interface ToolServerPage {
  /** never null */
  data: (ToolServer)[];
  /** Next is the "after" of the next page. "": this is the last one. */
  next?: string;
}
/** Trouble is why calls of a model fail, until one succeeds. */
export interface Trouble {
  at: string;
  in_a_row: number;
  why: string;
}
/** Undone is what taking back the last change of a memory did. */
export interface Undone {
  /** Back are the facts that count again. */
  back: (Remembered)[];
  /** Dropped is the fact that had replaced them, if there was one. It is deleted. */
  dropped?: Remembered;
}
/** Unlinked is the answer to Unlink. Told: the network knows. */
export interface Unlinked {
  told: boolean;
}
/** Uploaded is a file that a message can name. */
export interface Uploaded {
  bytes: number;
  ref: string;
}
/** Usage is the tokens of model calls, as their provider counted them. */
export interface Usage {
  /** part of Input that came from its cache */
  cached?: number;
  /** Cost is in the currency of the configured prices. Without prices it is the provider's figure, or 0. */
  cost?: number;
  input: number;
  output: number;
}
/** UsageReport is what was used from one day to another. */
export interface UsageReport {
  from: string;
  next?: string;
  /** Others are what the rows after the last one used, and Next is the After of their page. */
  others?: Used;
  /** the most tokens first; days in their order */
  rows: (UsedRow)[];
  /** Since is the first day of which anything is known; "": nothing is. Of days that are more than three months old there is one sum a month, on its first day. */
  since?: string;
  to: string;
  total: Used;
  /** Zone is the time zone of the days: agent.time_zone, or that of the machine; "Local" if nobody knows its name. */
  zone: string;
}
/** Used is what turns used. Cost is 0 where no prices are known. */
export interface Used {
  /** part of Input that came from its cache */
  cached?: number;
  /** Cost is in the currency of the configured prices. Without prices it is the provider's figure, or 0. */
  cost?: number;
  input: number;
  output: number;
  tool_calls: number;
  turns: number;
}
/** UsedDay is what was used on one day. */
export interface UsedDay {
  /** part of Input that came from its cache */
  cached?: number;
  /** Cost is in the currency of the configured prices. Without prices it is the provider's figure, or 0. */
  cost?: number;
  day: string;
  input: number;
  output: number;
  tool_calls: number;
  turns: number;
}
/** UsedRow is what one person, chat or model used, or what was used on one day. */
export interface UsedRow {
  /** part of Input that came from its cache */
  cached?: number;
  /** Cost is in the currency of the configured prices. Without prices it is the provider's figure, or 0. */
  cost?: number;
  /** without those of which there is nothing */
  days?: (UsedDay)[];
  input: number;
  /** Name is a day like 2026-11-29, a model's name, a conversation's key, or a person: an identity, or the one that stands for all that were joined with it. */
  name: string;
  output: number;
  tool_calls: number;
  turns: number;
}

/** The verbs, by method and path. */
export interface Operations {
  /** The calls of tools that somebody was asked about, the newest first: those in conversations that you may read, and those that you may decide. */
  "GET /approvals": {
    query: {
      after?: string;
      key?: Key;
      limit?: number;
      pending?: boolean;
    };
    answer: ApprovalPage;
  };
  /** One of them. */
  "GET /approvals/{id}": {
    path: {
      id: string;
    };
    answer: Approval;
  };
  /** Answers a question, if you may decide it. Whoever runs Dragoman may everywhere, with the scope operate. A second answer changes nothing, and is told what was decided. */
  "POST /approvals/{id}": {
    path: {
      id: string;
    };
    body: {
      /** Answer is allow, deny or always: now, and whenever it is exactly the same. */
      answer: string;
    };
    answer: Decision;
  };
  /** Asks a question in a conversation and waits for the answer; other people than the operator in their rooms. A repeat with the same `id` only waits. */
  "POST /ask": {
    body: {
      id?: string;
      key: Key;
      /** Model is the model that answers this question alone; "": the conversation's. */
      model?: string;
      text: string;
      /** Wait is how long to wait for the answer, like "5m". */
      wait?: string;
    };
    answer: Asked;
  };
  /** Your budgets: limit, used, reserved, and when they begin anew. A port without tokens shows none. */
  "GET /budgets": {
    answer: BudgetPage;
  };
  /** The channels with their state, and whether each is linked to a phone: for the scope `read`, and for whoever runs Dragoman and shows a token. */
  "GET /channels": {
    answer: ChannelPage;
  };
  /** The last day of each channel by half hour: connected or not, messages in and out, failures. */
  "GET /channels/history": {
    answer: ChannelDays;
  };
  /** Forgets the phone that a channel is linked to. */
  "DELETE /channels/{name}/link": {
    path: {
      name: string;
    };
    answer: Unlinked;
  };
  /** Links a channel to a phone, and shows codes to scan or to type, one JSON object a line. */
  "POST /channels/{name}/link": {
    path: {
      name: string;
    };
    body: {
      phone?: string;
      /** Picture asks for QR codes as pictures, too. */
      picture?: boolean;
      /** Within ends it after that many seconds. 0: it goes on while somebody listens, and a page that was left open asks for codes for ever. */
      within_seconds?: number;
    };
    answer: LinkLine;
  };
  /** The commands that you may use in your rooms of the page, as `/help` lists them, for completion. */
  "GET /commands": {
    answer: CommandPage;
  };
  /** A link that opens the page once, within a minute, for whoever runs Dragoman. */
  "POST /console/links": {
    body: {
    };
    answer: ConsoleLink;
  };
  /** Conversations that match, the most recently updated first: all with the scope read, else one's own. */
  "GET /conversations": {
    query: {
      after?: string;
      channel?: string;
      limit?: number;
      meta?: { [name: string]: string };
      mine?: boolean;
      only?: string;
      pinned?: boolean;
      tag?: string;
      text?: string;
    };
    answer: ConversationPage;
  };
  /** Puts the messages of a conversation before those of `to`, as one generation, and removes it. */
  "POST /conversations/{from}/join": {
    path: {
      from: Key;
    };
    body: {
      to: Key;
    };
    answer: void;
  };
  /** Deletes the transcript of a conversation. */
  "DELETE /conversations/{key}": {
    path: {
      key: Key;
    };
    answer: void;
  };
  /** One conversation with its settings. */
  "GET /conversations/{key}": {
    path: {
      key: Key;
    };
    answer: Conversation;
  };
  /** Changes a conversation's settings, and answers with all of them. */
  "PATCH /conversations/{key}": {
    path: {
      key: Key;
    };
    body: {
      /** Agent is a persona that may answer in the conversation, or "" for the configured one. */
      agent?: string;
      meta?: { [name: string]: unknown };
      model?: string;
      /** New allows a conversation that does not exist yet. Without it the result is ErrNotFound, because a mistyped key would appear in all lists. */
      new?: boolean;
      /** Reasoning is a level that model.reasoning accepts, or "" for that setting. */
      reasoning?: string;
      system_prompt?: string;
      tag?: (string)[];
      unmeta?: (string)[];
      untag?: (string)[];
    };
    answer: Settings;
  };
  /** Has the last message answered once more, as `/again` does. */
  "POST /conversations/{key}/again": {
    path: {
      key: Key;
    };
    body: {
      id?: string;
      /** Model is the model that answers this time; "": the conversation's. */
      model?: string;
    };
    answer: void;
  };
  /** The personas that may answer in a conversation, as `/agent` lists them; `agent` of `PATCH` chooses one. */
  "GET /conversations/{key}/agents": {
    path: {
      key: Key;
    };
    answer: AgentChoicePage;
  };
  /** Summarises the older part of a conversation, as `/compact` does: all of it is kept. The conversation is told what became of it. */
  "POST /conversations/{key}/compact": {
    path: {
      key: Key;
    };
    body: {
      id?: string;
    };
    answer: void;
  };
  /** What people wrote and were sent, oldest first and the newest page first, with the state of each delivery. */
  "GET /conversations/{key}/feed": {
    path: {
      key: Key;
    };
    query: {
      before?: string;
      limit?: number;
    };
    answer: FeedItemPage;
  };
  /** The parts into which `/new` divided a conversation, oldest first. */
  "GET /conversations/{key}/generations": {
    path: {
      key: Key;
    };
    answer: GenerationPage;
  };
  /** Messages, oldest first: the first ones of a part that has an `after`, else the newest. */
  "GET /conversations/{key}/messages": {
    path: {
      key: Key;
    };
    query: {
      after?: string;
      before?: string;
      limit?: number;
    };
    answer: MessagePage;
  };
  /** Puts a message into a conversation and does not wait for the answer: the events tell it. A repeat with the same `id` changes nothing. */
  "POST /conversations/{key}/messages": {
    path: {
      key: Key;
    };
    body: {
      /** Files were uploaded before, with POST /files. With one the text may be empty. */
      files?: (SentFile)[];
      id?: string;
      /** Mode is how it is answered while a turn runs: "steer" hands it to the turn between its steps, "interrupt" begins the turn again with it. "": as configured. */
      mode?: string;
      /** Model is the model that answers this message alone; "": the conversation's. */
      model?: string;
      text: string;
    };
    answer: Said;
  };
  /** Puts a new text in the place of an earlier message of yours and has it answered. What followed stays in the transcript, marked `replaced_by`; the model does not see it any more. */
  "POST /conversations/{key}/messages/{seq}/edit": {
    path: {
      key: Key;
      seq: number;
    };
    body: {
      id?: string;
      /** Model is the model that answers; "": the conversation's. */
      model?: string;
      text: string;
    };
    answer: Said;
  };
  /** Takes back what you think of an answer. */
  "DELETE /conversations/{key}/messages/{seq}/feedback": {
    path: {
      key: Key;
      seq: number;
    };
    answer: void;
  };
  /** Says what you think of an answer, `up` or `down`, with a note if you like. Your `feedback` is shown with the message. */
  "PUT /conversations/{key}/messages/{seq}/feedback": {
    path: {
      key: Key;
      seq: number;
    };
    body: {
      /** Note has at most 500 characters. */
      note?: string;
      /** up or down */
      value: string;
    };
    answer: void;
  };
  /** A file that came with a message: `n` is 0 for its first one. */
  "GET /conversations/{key}/messages/{seq}/files/{n}": {
    path: {
      key: Key;
      n: number;
      seq: number;
    };
    answer: Blob;
  };
  /** Begins a new generation, as `/new` does: the old one is kept, and the model does not see it. */
  "POST /conversations/{key}/new": {
    path: {
      key: Key;
    };
    body: {
      id?: string;
    };
    answer: void;
  };
  /** Unpins a conversation. */
  "DELETE /conversations/{key}/pin": {
    path: {
      key: Key;
    };
    answer: void;
  };
  /** Pins a conversation, for you alone: `pinned=true` lists these. */
  "PUT /conversations/{key}/pin": {
    path: {
      key: Key;
    };
    body: {
    };
    answer: void;
  };
  /** Makes the last message of somebody else in a conversation new to you again. */
  "DELETE /conversations/{key}/read": {
    path: {
      key: Key;
    };
    answer: void;
  };
  /** Says that you have read a conversation, all of it or up to a number of `messages`. */
  "PUT /conversations/{key}/read": {
    path: {
      key: Key;
    };
    body: {
      /** Messages is its message_count when they read it. 0: all that there is now. */
      messages?: number;
    };
    answer: void;
  };
  /** Sends a text in the name of the assistant, who then sees it as its own words, or `as` yourself. The transcript names who wrote it. */
  "POST /conversations/{key}/replies": {
    path: {
      key: Key;
    };
    body: {
      /** As is "assistant", who then sees it as its own words, or "me": the text begins with the name of the caller, and is stored as theirs. "": assistant. */
      as?: string;
      id?: string;
      text: string;
    };
    answer: void;
  };
  /** The messages of the unfinished turn. */
  "GET /conversations/{key}/running": {
    path: {
      key: Key;
    };
    answer: Running;
  };
  /** Takes one of them back: it is asked about again. */
  "DELETE /conversations/{key}/standings/{id}": {
    path: {
      id: string;
      key: Key;
    };
    answer: void;
  };
  /** Stops the running turn and keeps what it said so far, as `/stop` does. */
  "POST /conversations/{key}/stop": {
    path: {
      key: Key;
    };
    body: {
      id?: string;
    };
    answer: void;
  };
  /** The summary that replaces the older messages of the current generation, or null. */
  "GET /conversations/{key}/summary": {
    path: {
      key: Key;
    };
    answer: Summary | null;
  };
  /** Gives a conversation a title; an empty one removes it. */
  "PUT /conversations/{key}/title": {
    path: {
      key: Key;
    };
    body: {
      title: string;
    };
    answer: void;
  };
  /** What erasing a conversation or a person would remove. */
  "GET /erasures": {
    query: {
      only_conversation?: boolean;
      target: string;
    };
    answer: ErasePlan;
  };
  /** Erases for good what a plan lists as its `erasure`. */
  "POST /erasures": {
    body: {
      files?: (string)[];
      keys?: (Key)[];
      /** of notes and counts */
      owners?: (string)[];
      scopes?: (string)[];
      senders?: (Sender)[];
    };
    answer: Erased;
  };
  /** What happens, as server-sent events: all that you may read, or of some conversations and types. */
  "GET /events": {
    query: {
      after?: string;
      key?: (Key)[];
      type?: (string)[];
    };
    answer: Event;
  };
  /** Conversations as a file, as `dragoman sessions export` writes it: json, markdown, or jsonl with the scope admin. All of them only at the socket. */
  "GET /export": {
    query: {
      format?: string;
      key?: (Key)[];
    };
    answer: Blob;
  };
  /** What is remembered about a chat or a person, the newest first. */
  "GET /facts": {
    query: {
      after?: string;
      limit?: number;
      target: string;
    };
    answer: RememberedPage;
  };
  /** Takes back the newest replacement or forgetting of the last 30 days in one memory. */
  "POST /facts/undo": {
    body: {
      /** Scope is that of its facts: a target may have the memory of the chat and that of the person. */
      scope: string;
      target: string;
    };
    answer: Undone;
  };
  /** Forgets one fact about a chat or a person. It can be taken back for 30 days. */
  "DELETE /facts/{fact}": {
    path: {
      fact: number;
    };
    query: {
      target: string;
    };
    answer: void;
  };
  /** Replaces a fact by another text, which has a number of its own. */
  "PATCH /facts/{fact}": {
    path: {
      fact: number;
    };
    body: {
      target: string;
      /** Text is one fact, up to 2000 bytes. */
      text: string;
    };
    answer: Remembered;
  };
  /** Unpins a fact. */
  "DELETE /facts/{fact}/pin": {
    path: {
      fact: number;
    };
    query: {
      target: string;
    };
    answer: void;
  };
  /** Pins a fact: it comes first in prompts. */
  "PUT /facts/{fact}/pin": {
    path: {
      fact: number;
    };
    body: {
      target: string;
    };
    answer: void;
  };
  /** What people think of answers, the newest first. What they wrote with it only if the caller may read the conversation. */
  "GET /feedback": {
    query: {
      after?: string;
      key?: Key;
      limit?: number;
      model?: string;
      value?: string;
    };
    answer: GivenFeedbackPage;
  };
  /** The files that came with messages of one conversation, or of all that you may read, the newest first; with the scope chat, of your own. */
  "GET /files": {
    query: {
      after?: string;
      key?: Key;
      limit?: number;
    };
    answer: ListedFilePage;
  };
  /** Stores a file, which is the whole body, for a message that names its `ref` within a day. */
  "POST /files": {
    body: unknown;
    answer: Uploaded;
  };
  /** What `GET /status` says, and the figures of the last hour, every 15 seconds, of each node: to plot as they are. */
  "GET /health": {
    answer: HealthReport;
  };
  /** Calls a webhook of the section `incoming_webhooks`, with any body. A repeat is answered with 200 and leads to nothing more. */
  "POST /hooks/{name}": {
    path: {
      name: string;
    };
    body: unknown;
    answer: Called;
  };
  /** The jobs and reminders, with what comes in the next 24 hours: all with the scope operate, else one's own and those that write to one's own conversations. */
  "GET /jobs": {
    query: {
      after?: string;
      kind?: string;
      limit?: number;
      text?: string;
    };
    answer: JobPage;
  };
  /** Lets a paused job or reminder run again. */
  "DELETE /jobs/{name}/pause": {
    path: {
      name: string;
    };
    answer: void;
  };
  /** Pauses a job or a reminder: its due times are skipped. One's own reminders; all with the scope operate. */
  "PUT /jobs/{name}/pause": {
    path: {
      name: string;
    };
    body: {
    };
    answer: void;
  };
  /** Runs a job now; its schedule does not change. */
  "POST /jobs/{name}/run": {
    path: {
      name: string;
    };
    body: {
    };
    answer: void;
  };
  /** The newest records of this node's log, the oldest first, without secrets. */
  "GET /log": {
    query: {
      after?: string;
      channel?: string;
      key?: Key;
      level?: string;
      limit?: number;
      text?: string;
    };
    answer: LogRecordPage;
  };
  /** The newest records of the log, and then each one as it is logged, as server-sent events. */
  "GET /log/events": {
    query: {
      after?: string;
      channel?: string;
      key?: Key;
      level?: string;
      limit?: number;
      text?: string;
    };
    answer: LogRecord;
  };
  /** Who you are to Dragoman, and what you may do. */
  "GET /me": {
    answer: Me;
  };
  /** The models that a prompt or a conversation may name, with window and prices, as `/model` lists them. */
  "GET /models": {
    answer: ModelChoicePage;
  };
  /** The nodes that work on the store. */
  "GET /nodes": {
    answer: Nodes;
  };
  /** What became of the due times of these jobs, newest first. */
  "GET /occurrences": {
    query: {
      after?: string;
      job?: string;
      limit?: number;
    };
    answer: OccurrencePage;
  };
  /** This table as an OpenAPI 3.1 document. */
  "GET /openapi.json": {
    answer: unknown;
  };
  /** Who was let in, and who is asking. */
  "GET /pairings": {
    query: {
      after?: string;
      limit?: number;
    };
    answer: PairingPage;
  };
  /** Lets in the person with this code. */
  "POST /pairings": {
    body: {
      code: string;
    };
    answer: Pairing;
  };
  /** Shuts a person out again. */
  "DELETE /pairings/{channel}/{person}": {
    path: {
      channel: string;
      person: string;
    };
    answer: void;
  };
  /** Refuses whoever was given this code: it opens nothing any more. If they write again, they get another code. */
  "DELETE /pairings/{code}": {
    path: {
      code: string;
    };
    answer: Pairing;
  };
  /** The people who wrote or were let in, and those whose identities on several networks were joined or connected, by name or the identities that match. */
  "GET /people": {
    query: {
      after?: string;
      limit?: number;
      several?: boolean;
      text?: string;
    };
    answer: PersonPage;
  };
  /** Makes one person of the identities `one` and `other`, who then read each other's private talks. */
  "POST /people": {
    body: {
      one: string;
      other: string;
    };
    answer: void;
  };
  /** Makes an identity a person of its own again. */
  "DELETE /people/{identity}": {
    path: {
      identity: string;
    };
    answer: void;
  };
  /** One of them, by any of their identities. */
  "GET /people/{identity}": {
    path: {
      identity: string;
    };
    answer: Person;
  };
  /** What is unanswered, undelivered, given up or set aside. */
  "GET /queue": {
    query: {
      after?: string;
      kind?: string;
      limit?: number;
      state?: string;
      text?: string;
    };
    answer: QueueItemPage;
  };
  /** Gives an entry up. */
  "DELETE /queue/{id}": {
    path: {
      id: string;
    };
    answer: void;
  };
  /** One entry of the queue, with its text if the caller may read it. */
  "GET /queue/{id}": {
    path: {
      id: string;
    };
    answer: QueueItem;
  };
  /** Tries an entry again now. */
  "POST /queue/{id}/retry": {
    path: {
      id: string;
    };
    body: {
    };
    answer: void;
  };
  /** The records of some conversations, one JSON object a line. All of the store, which includes what others wrote, only at the socket. */
  "GET /records": {
    query: {
      key?: (Key)[];
    };
    answer: unknown;
  };
  /** Stores records, all or none. */
  "POST /records": {
    body: unknown;
    answer: Restored;
  };
  /** Makes a reminder of yours, in a conversation of yours. */
  "POST /reminders": {
    body: {
      /** At, In, Every, Repeat and Zone are those of a When. */
      at?: string;
      every?: string;
      in?: string;
      /** Key is the conversation of the caller that gets it; left out: their first room. */
      key?: Key;
      prompt?: string;
      repeat?: Repeat;
      text?: string;
      zone?: string;
    };
    answer: Job;
  };
  /** Cancels a reminder. It can be brought back for an hour. */
  "DELETE /reminders/{name}": {
    path: {
      name: string;
    };
    answer: void;
  };
  /** Changes when a reminder is due or, if it is yours, what it says. A new time ends a pause. */
  "PATCH /reminders/{name}": {
    path: {
      name: string;
    };
    body: {
      /** At, In, Every, Repeat and Zone are those of a When. */
      at?: string;
      every?: string;
      in?: string;
      prompt?: string;
      repeat?: Repeat;
      text?: string;
      zone?: string;
    };
    answer: Job;
  };
  /** Brings back a reminder that was cancelled within the last hour. */
  "POST /reminders/{name}/restore": {
    path: {
      name: string;
    };
    body: {
    };
    answer: Job;
  };
  /** Messages with these words, the best first. */
  "GET /search": {
    query: {
      after?: string;
      from?: string;
      key?: Key;
      limit?: number;
      query: string;
      to?: string;
    };
    answer: HitPage;
  };
  /** Every setting with its value and where it is from, without secrets, and what `dragoman check` finds. */
  "GET /settings": {
    answer: Configuration;
  };
  /** The skills of `skills.dir`, and which of them the model is offered. */
  "GET /skills": {
    answer: SkillPage;
  };
  /** Offers a skill to the model, if its hash is that of the list which you have read. */
  "POST /skills/{name}/accept": {
    path: {
      name: string;
    };
    body: {
      /** of a Skill; one that is gone is forgotten */
      hash: string;
    };
    answer: void;
  };
  /** The calls that are always allowed, in conversations that you may read. */
  "GET /standings": {
    query: {
      key?: Key;
    };
    answer: StandingPage;
  };
  /** Messages and tokens of the last seven days, and the conversations with the most tokens. */
  "GET /statistics": {
    answer: Numbers;
  };
  /** The budgets of which something was used, the most used first: limit, used, reserved, and when they begin anew. */
  "GET /statistics/budgets": {
    query: {
      limit?: number;
    };
    answer: BudgetPage;
  };
  /** How often people liked the answers of each model, and how often not, in the last year. */
  "GET /statistics/feedback": {
    answer: ModelFeedbackPage;
  };
  /** Turns, tokens, cost and tool calls of the last thirty days or of others, by day, model, person, chat or job. */
  "GET /statistics/usage": {
    query: {
      after?: string;
      by?: string;
      days?: boolean;
      from?: string;
      limit?: number;
      person?: string;
      to?: string;
    };
    answer: UsageReport;
  };
  /** The state of the daemon, its channels, its model and its queues. */
  "GET /status": {
    answer: Status;
  };
  /** The named tokens, also those that ended in the last month, without what lets anybody in. */
  "GET /tokens": {
    answer: TokenPage;
  };
  /** Makes a token and shows it, this once. Tokens of other people only at the socket. */
  "POST /tokens": {
    body: {
      /** ExpiresIn is how long it is good, in seconds. 0: until it is revoked. */
      expires_in?: number;
      name: string;
      /** Person is "operator" or an identity of a network, like "telegram:123456". "": the caller. */
      person?: string;
      scope: string;
    };
    answer: MadeToken;
  };
  /** Ends a token, and within five seconds whatever it let in. */
  "DELETE /tokens/{name}": {
    path: {
      name: string;
    };
    query: {
      person?: string;
    };
    answer: Token;
  };
  /** Gives a token a new secret and shows it, this once; the one before is good for a while. Tokens of other people only at the socket. */
  "POST /tokens/{name}/rotate": {
    path: {
      name: string;
    };
    body: {
      /** Grace is how long the secret before is still good, in seconds. */
      grace?: number;
      person?: string;
    };
    answer: MadeToken;
  };
  /** The servers of tools of `mcp.servers`. */
  "GET /tool-servers": {
    answer: ToolServerPage;
  };
  /** Accepts what a server of tools lists now, if its digest is that of a test which you have read. */
  "POST /tool-servers/{name}/accept": {
    path: {
      name: string;
    };
    body: {
      /** of a ToolReport */
      digest: string;
    };
    answer: void;
  };
  /** Drops the tokens of a login, and asks the authorization server to do so. */
  "DELETE /tool-servers/{name}/login": {
    path: {
      name: string;
    };
    answer: ToolLogout;
  };
  /** Makes a link with which a person logs in at a server of tools that wants OAuth. A link before it is void. */
  "POST /tool-servers/{name}/login": {
    path: {
      name: string;
    };
    body: {
    };
    answer: ToolLogin;
  };
  /** Takes the address to which the browser was sent back, once, and keeps the tokens. They are never shown. */
  "POST /tool-servers/{name}/login/answer": {
    path: {
      name: string;
    };
    body: {
      address: string;
    };
    answer: void;
  };
  /** Starts a server of tools, and compares what it lists with what was accepted. */
  "POST /tool-servers/{name}/test": {
    path: {
      name: string;
    };
    body: {
    };
    answer: ToolReport;
  };
  /** What you have used, by day; at a port without tokens, in the rooms of page and terminal. */
  "GET /usage": {
    query: {
      from?: string;
      to?: string;
    };
    answer: UsageReport;
  };
}
