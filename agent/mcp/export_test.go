package mcp

// Words is visibleWords, and Line is cleanText.
var (
	Words = visibleWords
	Line  = cleanText
)
