// The views: where they are, who sees them, and the module that draws each when it is
// opened for the first time.

/**
 * Place is a view. phone: it has a tab of its own on phones; the others are under More.
 * @typedef {{view: string, icon: string, title: string, scope: string, phone?: boolean, find?: () => Promise<any>}} Place
 */

/** @type {Place[]} */
export const places = [
  { view: "talk", icon: "message-circle", title: "Talk", scope: "chat", phone: true, find: () => import("./views/talk.js").then((m) => m.Talk) },
  { view: "you", icon: "bell", title: "For you", scope: "chat", phone: true, find: () => import("./views/you.js").then((m) => m.You) },
  { view: "jobs", icon: "calendar-clock", title: "Jobs", scope: "chat", phone: true, find: () => import("./views/jobs.js").then((m) => m.Jobs) },
  { view: "queue", icon: "inbox", title: "Queue", scope: "operate", find: () => import("./views/queue.js").then((m) => m.Queue) },
  { view: "channels", icon: "radio-tower", title: "Channels", scope: "read", find: () => import("./views/channels.js").then((m) => m.Channels) },
  { view: "people", icon: "users", title: "People", scope: "operate", find: () => import("./views/people.js").then((m) => m.People) },
  { view: "usage", icon: "wallet", title: "Usage", scope: "read", find: () => import("./views/usage.js").then((m) => m.Usage) },
  { view: "health", icon: "activity", title: "Health", scope: "read", phone: true, find: () => import("./views/health.js").then((m) => m.Health) },
  { view: "log", icon: "scroll-text", title: "Log", scope: "admin", find: () => import("./views/log.js").then((m) => m.Log) },
  { view: "settings", icon: "settings", title: "Settings", scope: "admin", find: () => import("./views/settings.js").then((m) => m.Settings) },
];

const scopes = ["chat", "read", "operate", "admin"];

// mine are the places that a scope may see.
/** @param {string} [scope] */
export const mine = (scope = "chat") => places.filter((p) => scopes.indexOf(p.scope) <= scopes.indexOf(scope));
