package sqlite_test

func runChild() bool { return false }
