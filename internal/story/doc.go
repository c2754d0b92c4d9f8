// Package story holds tests of the whole: the real binary, run as its user
// runs it, between a Telegram test server, a real IRC server, the page's HTTP
// API, the operator's commands and a model server. Each test is one story:
// what people write, what they see, and what an operator finds afterwards.
//
// The binary is built once for all of them. Nothing here looks inside of it;
// tests of one package's promises stand with that package, and the crash
// campaign stands in internal/crash.
package story
