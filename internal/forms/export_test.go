package forms

// ValueOf is valueOf.
var ValueOf = valueOf
