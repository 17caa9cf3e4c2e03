// Package image proves that the container image is what it is said to be: made by `make image` with buildah, empty but for the one
// static binary, small, run as nobody, and serving from a volume. It has tests only.
package image
