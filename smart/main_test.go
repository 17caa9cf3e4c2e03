package smart

import (
	"os"
	"testing"

	"ssd_exporter/smart/smarttest"
)

func TestMain(m *testing.M) {
	smarttest.Hook()
	os.Exit(m.Run())
}
