package smart

import "encoding/binary"

// statisticsPages is how many pages of the Device Statistics log are read: 0 is the list, 7 the one for SSDs.
const statisticsPages = 8

// statCurrentTemperature is signed degrees Celsius in one byte (ACS-4, 9.5.6).
var statCurrentTemperature = Stat{5, 0x08}

// statWidth is the width in bytes of each entry of the Device Statistics log (ACS-4, 9.5). The rest of its seven bytes is
// reserved, and not always zero.
var statWidth = map[Stat]uint{
	// General Statistics: resets, hours, sectors and commands written and read, time stamp, pending errors, utilisation
	{1, 0x08}: 4, {1, 0x10}: 4, {1, 0x18}: 6, {1, 0x20}: 6, {1, 0x28}: 6, {1, 0x30}: 6, {1, 0x38}: 6, {1, 0x40}: 4, {1, 0x48}: 2,
	// Free-Fall Statistics
	{2, 0x08}: 4, {2, 0x10}: 4,
	// Rotating Media Statistics
	{3, 0x08}: 4, {3, 0x10}: 4, {3, 0x18}: 4, {3, 0x20}: 4, {3, 0x28}: 4, {3, 0x30}: 4, {3, 0x38}: 4, {3, 0x40}: 4,
	// General Errors Statistics
	{4, 0x08}: 4, {4, 0x10}: 4, {4, 0x18}: 4,
	// Temperature Statistics: signed degrees, but for the minutes outside of the limits
	{5, 0x08}: 1, {5, 0x10}: 1, {5, 0x18}: 1, {5, 0x20}: 1, {5, 0x28}: 1, {5, 0x30}: 1, {5, 0x38}: 1, {5, 0x40}: 1, {5, 0x48}: 1,
	{5, 0x50}: 4, {5, 0x58}: 1, {5, 0x60}: 4, {5, 0x68}: 1,
	// Transport Statistics
	{6, 0x08}: 4, {6, 0x10}: 4, {6, 0x18}: 4,
	// Solid State Device Statistics: the Percentage Used Endurance Indicator
	{7, 0x08}: 1,
}

// parseStatistics reads pages of the Device Statistics log, from page 0 on, and keeps the entries that the disk marks
// supported and valid. A page whose header does not name itself is left out: disks fill the pages that they lack with
// zeros or with something else. Temperatures below zero are left out too, since entries are unsigned here.
func parseStatistics(log []byte) map[Stat]uint64 {
	const supported, valid = 1 << 63, 1 << 62
	stats := map[Stat]uint64{}
	for number := 1; number < statisticsPages && len(log) >= 512*(number+1); number++ {
		page := log[512*number : 512*(number+1)]
		// Header: revision in bytes 1:0, page number in byte 2 (ACS-4, 9.5.1).
		if binary.LittleEndian.Uint16(page) == 0 || int(page[2]) != number {
			continue
		}
		for offset := 8; offset < 512; offset += 8 {
			field := binary.LittleEndian.Uint64(page[offset:])
			if field&supported == 0 || field&valid == 0 {
				continue
			}
			key := Stat{uint16(number), uint16(offset)}
			width, known := statWidth[key]
			if !known {
				width = 7
			}
			value := field & (1<<(8*width) - 1)
			if number == 5 && width == 1 && value > 127 {
				continue
			}
			stats[key] = value
		}
	}
	return stats
}
