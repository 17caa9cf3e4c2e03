package blockdev

import "strings"

// OnBattery tells whether the machine runs on a battery: it has a mains supply and nothing outside feeds it, or one
// of its own batteries is discharging. Batteries of peripherals (scope "Device": mice, headsets) do not count, and a
// machine without power supplies in sysfs, such as most servers, is never on battery.
//
// It reads four attributes of each supply (Documentation/ABI/testing/sysfs-class-power) instead of all of them,
// because a laptop's battery answers each through a slow embedded controller.
func OnBattery(r Roots) bool {
	dir := sysfs(r.WithDefaults().Sysfs).path("class", "power_supply")
	mains, fed := false, false
	for _, name := range entries(dir) {
		attr := func(a string) string { return text(dir + "/" + name + "/" + a) }
		if strings.EqualFold(attr("scope"), "Device") {
			continue
		}
		switch kind := attr("type"); {
		case kind == "Battery" || kind == "UPS":
			if attr("status") == "Discharging" {
				return true
			}
		case kind == "Mains" || kind == "Wireless" || strings.HasPrefix(kind, "USB"):
			// USB-C chargers are supplies of their own. Only a mains supply proves by its
			// absence of power that nothing feeds the machine: an idle USB port says nothing.
			online := attr("online")
			mains = mains || kind == "Mains" && online != ""
			fed = fed || online != "" && online != "0"
		}
	}
	return mains && !fed
}
