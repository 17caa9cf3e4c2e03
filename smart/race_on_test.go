//go:build race

package smart

// corpusStep: with the race detector decoding 64 MB of JSON takes twelve times as long.
const corpusStep = 6
