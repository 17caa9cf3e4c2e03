package blockdev

import "testing"

func TestOnBattery(t *testing.T) {
	mains := func(online string) attrs { return attrs{"type": "Mains", "online": online} }
	battery := func(status string) attrs { return attrs{"type": "Battery", "status": status, "scope": "System"} }
	tests := []struct {
		story    string
		supplies map[string]attrs
		want     bool
	}{
		{"server without supplies in sysfs", nil, false},
		{"laptop on mains", map[string]attrs{"AC": mains("1"), "BAT0": battery("Full")}, false},
		{"laptop unplugged", map[string]attrs{"AC": mains("0"), "BAT0": battery("Discharging")}, true},
		{"unplugged, and the battery does not know yet", map[string]attrs{"AC": mains("0"), "BAT0": battery("Unknown")}, true},
		{"plugged in, but the charger is too weak", map[string]attrs{"AC": mains("1"), "BAT0": battery("Discharging")}, true},
		{"battery kept at 80 %", map[string]attrs{"AC": mains("1"), "BAT0": battery("Not charging")}, false},
		{"mains socket empty, fed by USB-C", map[string]attrs{
			"AC": mains("0"), "ucsi": {"type": "USB", "online": "1"}, "BAT0": battery("Charging"),
		}, false},
		{"tablet without mains supply, USB port idle", map[string]attrs{
			"usb": {"type": "USB", "online": "0"}, "BAT0": battery("Full"),
		}, false},
		{"battery of a mouse", map[string]attrs{
			"hidpp_battery_0": {"type": "Battery", "status": "Discharging", "scope": "Device"},
		}, false},
		{"mouse on a laptop on mains", map[string]attrs{
			"AC": mains("1"), "mouse": {"type": "Battery", "status": "Discharging", "scope": "Device"}, "BAT0": battery("Charging"),
		}, false},
		{"mains supply that does not say", map[string]attrs{"AC": {"type": "Mains"}}, false},
		{"two mains supplies, one dead", map[string]attrs{"AC0": mains("0"), "AC1": mains("1")}, false},
		{"UPS in use", map[string]attrs{"ups": {"type": "UPS", "status": "Discharging"}}, true},
	}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			x := newTree(t)
			for name, a := range tc.supplies {
				for k, v := range a {
					x.file("class/power_supply/"+name+"/"+k, v)
				}
			}
			if got := OnBattery(x.roots()); got != tc.want {
				t.Errorf("OnBattery = %v, want %v", got, tc.want)
			}
		})
	}
}
