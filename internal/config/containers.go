package config

import (
	"slices"
	"strings"

	"dragoman/internal/lazily"
)

// containers are programs that run an image.
var containers = []string{"docker", "podman", "nerdctl"}

// alone are options of "run" that have no value beside them. All others do.
var alone = strings.Fields("--detach --disable-content-trust --env-host --help --http-proxy --init --interactive --no-healthcheck --no-hosts --no-hostname " +
	"--oom-kill-disable --passwd --privileged --publish-all --quiet --read-only --read-only-tmpfs --replace --rm --rmi --rootfs --sig-proxy --tls-verify --tty")

// flags are short options of the same kind, written as one, like -it.
var flags = lazily.Compile(`^-[dihqtP]+$`)

// imageVersion is the tag of an image with a number, or its digest.
var imageVersion = lazily.Compile(`(:[A-Za-z._-]*[0-9][A-Za-z0-9._-]*|@sha256:[0-9a-f]{64})$`)

// isUnnumbered reports whether the arguments of a program that runs an image name one that may
// be another one by the next start.
func isUnnumbered(args []string) bool {
	image := imageIn(args)
	return image != "" && !imageVersion.Matches(image)
}

// imageIn finds the image in the arguments of docker and its like; "" if there is none.
func imageIn(args []string) string {
	begin := slices.Index(args, "run")
	if begin < 0 {
		return ""
	}
	isValue := false
	for _, arg := range args[begin+1:] {
		switch {
		case isValue:
			isValue = false
		case arg == "--":
		case !strings.HasPrefix(arg, "-"):
			return arg
		default:
			attached := strings.Contains(arg, "=") || !strings.HasPrefix(arg, "--") && len(arg) > 2 && !flags.Matches(arg[:len(arg)-1])
			isValue = !attached && !slices.Contains(alone, arg) && !flags.Matches(arg)
		}
	}
	return ""
}
