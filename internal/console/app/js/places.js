// The views: where they are, who sees them, and the module that draws each when it is
// opened for the first time.

/**
 * Place is a view. phone: it has a tab of its own on phones; the others are under More.
 * hidden: links lead there, not the navigation. operator: whoever runs Dragoman sees it with less.
 * @typedef {{view: string, icon: string, title: string, scope: string, phone?: boolean, hidden?: boolean, operator?: boolean, find?: () => Promise<any>}} Place
 */

/** @type {Place[]} */
export const places = [
  { view: "talk", icon: "message-circle", title: "Talk", scope: "chat", phone: true, find: () => import("./views/talk.js").then((m) => m.Talk) },
  { view: "you", icon: "bell", title: "For you", scope: "chat", phone: true, find: () => import("./views/you.js").then((m) => m.You) },
  { view: "jobs", icon: "calendar-clock", title: "Jobs", scope: "chat", phone: true, find: () => import("./views/jobs.js").then((m) => m.Jobs) },
  { view: "queue", icon: "inbox", title: "Queue", scope: "operate", find: () => import("./views/queue.js").then((m) => m.Queue) },
  { view: "channels", icon: "radio-tower", title: "Channels", scope: "read", operator: true, find: () => import("./views/channels.js").then((m) => m.found()) },
  { view: "people", icon: "users", title: "People", scope: "operate", find: () => import("./views/people.js").then((m) => m.People) },
  { view: "usage", icon: "wallet", title: "Usage", scope: "read", find: () => import("./views/usage.js").then((m) => m.Usage) },
  { view: "health", icon: "activity", title: "Health", scope: "read", phone: true, find: () => import("./views/health.js").then((m) => m.Health) },
  { view: "log", icon: "scroll-text", title: "Log", scope: "admin", find: () => import("./views/log.js").then((m) => m.Log) },
  { view: "settings", icon: "settings", title: "Settings", scope: "admin", find: () => import("./views/settings.js").then((m) => m.Settings) },
  { view: "first", icon: "wrench", title: "First steps", scope: "read", hidden: true, find: () => import("./views/first.js").then((m) => m.found()) },
];

const scopes = ["chat", "read", "operate", "admin"];

// sees says whether a place is for somebody. Whoever shows no token, at a port without any, is
// shown nothing of the operator's.
/**
 * @param {Place} p
 * @param {import("./types.js").Me} [me]
 */
export const sees = (p, me) => scopes.indexOf(p.scope) <= scopes.indexOf(me?.scope ?? "chat") || Boolean(p.operator && me?.token) && me?.person === "operator";

// mine are the places that somebody sees in the navigation.
/** @param {import("./types.js").Me} [me] */
export const mine = (me) => places.filter((p) => !p.hidden && sees(p, me));
