//go:build race

package nativetest

func init() { raceDetector = true }
