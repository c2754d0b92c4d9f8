package durable

// Gather is gather for numbers.
var Gather = gather[int]
