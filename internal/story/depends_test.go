package story_test

// The binary that is tested here is built from these packages. The import lets
// go test know, which would else take a result from before they changed.
import _ "dragoman/internal/app"
