// The types that the page speaks of. Those of the API are generated from its description.

/** @typedef {import("../../../../docs/openapi.js").Conversation} Conversation */
/** @typedef {import("../../../../docs/openapi.js").Message} Message */
/** @typedef {import("../../../../docs/openapi.js").FeedItem} FeedItem */
/** @typedef {import("../../../../docs/openapi.js").Attachment} Attachment */
/** @typedef {import("../../../../docs/openapi.js").Approval} Approval */
/** @typedef {import("../../../../docs/openapi.js").QueueItem} QueueItem */
/** @typedef {import("../../../../docs/openapi.js").Running} Running */
/** @typedef {import("../../../../docs/openapi.js").Remembered} Remembered */
/** @typedef {import("../../../../docs/openapi.js").Summary} Summary */
/** @typedef {import("../../../../docs/openapi.js").ModelChoice} ModelChoice */
/** @typedef {import("../../../../docs/openapi.js").Event} ApiEvent */
/** @typedef {import("../../../../docs/openapi.js").Hit} Hit */
/** @typedef {import("../../../../docs/openapi.js").Me} Me */

/**
 * Live is what an answer is while it is being written.
 * @typedef {object} Live
 * @property {string} text
 * @property {number} [from] where in the answer the text begins: see written.js
 * @property {string} thought
 * @property {{call: string, tool: string, ended: boolean}[]} tools
 */

/**
 * Attached is a file for the next message. It has a ref as soon as the server has it.
 * @typedef {{id: string, name: string, type: string, bytes: number, seconds?: number, ref?: string, problem?: string}} Attached
 */

/**
 * Unsent is a message that is not known to be on the server's disk.
 * @typedef {object} Unsent
 * @property {string} id
 * @property {string} key
 * @property {string} text
 * @property {string} at
 * @property {string} [person] who wrote it
 * @property {string} [model]
 * @property {{seq: number}} [edits] the message that it replaces
 * @property {{ref: string, name: string, type: string, bytes: number, seconds?: number}[]} [files]
 * @property {string} [problem]
 * @property {boolean} [refused] it will not be sent
 * @property {string} [as] message, or in the talk of others: reply in the name of the assistant, or me
 */

/**
 * Talk is an open conversation.
 * @typedef {object} Talk
 * @property {Conversation} [head]
 * @property {Message[]} messages
 * @property {string} [earlier] the "before" of the page before
 * @property {string} [later] the "after" of the page after, while not the newest is shown
 * @property {FeedItem[]} feed
 * @property {Running} [running]
 * @property {Approval[]} approvals
 * @property {QueueItem[]} dead deliveries that were given up
 * @property {number} [newFrom] the seq of the first message that was new when it was opened
 * @property {boolean} loaded
 * @property {boolean} loading an earlier page is on its way
 * @property {Error} [problem]
 */

/**
 * Finding is the search in an open conversation: hits are the seqs of what was found, at the
 * place of the one that is shown, and shown grows with each that is.
 * @typedef {{key: string, words: string, hits: number[], at: number, loading: boolean, shown?: number, problem?: Error}} Finding
 */

/**
 * Row is a conversation in the list.
 * @typedef {Conversation & {hit?: Hit}} Row
 */

/**
 * List is the list of conversations.
 * @typedef {object} List
 * @property {Row[]} rows
 * @property {Row[]} pinned
 * @property {string} [next]
 * @property {string} filter
 * @property {string} of the filter with which the rows were read
 * @property {string} words
 * @property {boolean} loaded
 * @property {boolean} loading
 * @property {Error} [problem]
 */

/**
 * WaitingItem is one thing that waits. kind is approval, pairing, channel, dead, job or
 * budget; of is what the server says of it.
 * @typedef {{id: string, kind: string, at: string, of: any}} WaitingItem
 */

/**
 * Waiting is what waits for this person, what was decided, which items they put off, and
 * which questions somebody else has just decided.
 * @typedef {object} Waiting
 * @property {WaitingItem[]} items
 * @property {Approval[]} decided
 * @property {import("../../../../docs/openapi.js").Pairing[]} paired
 * @property {string[]} later
 * @property {Approval[]} settled
 * @property {Error} [problem]
 */

/**
 * State is all that the page knows.
 * @typedef {object} State
 * @property {Me} [me]
 * @property {boolean} online
 * @property {ModelChoice[]} models
 * @property {List} list
 * @property {Record<string, Talk>} talks by key
 * @property {Record<string, Live>} live by turn
 * @property {Record<string, string>} drafts by key
 * @property {Unsent[]} unsent
 * @property {Record<string, Attached[]>} attached by key
 * @property {Finding} [finding]
 * @property {Record<string, string>} [names] of people, by their identities; read a moment after the first view is there
 * @property {Waiting} [waiting] read a moment after the first view is there
 * @property {boolean} [skipped] the first steps are not wanted
 */

export {};
