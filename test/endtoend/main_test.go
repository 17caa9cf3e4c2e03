package endtoend

import (
	"os"
	"testing"

	"ssd_exporter/test/rig"
)

var product rig.Build

func TestMain(m *testing.M) {
	code := m.Run()
	product.Close()
	os.Exit(code)
}
