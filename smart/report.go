package smart

// report is the part of the JSON of `smartctl -x -j` (format version 1.0, smartctl 7.0 to 7.5) that a Reading holds. The
// same type is decoded and encoded. Field names are smartctl's.
type report struct {
	Format    []int         `json:"json_format_version,omitempty"`
	Smartctl  *smartctlRun  `json:"smartctl,omitempty"`
	LocalTime *localTime    `json:"local_time,omitempty"`
	Device    *reportDevice `json:"device,omitempty"`

	ModelFamily string `json:"model_family,omitempty"`
	ModelName   string `json:"model_name,omitempty"`
	Serial      string `json:"serial_number,omitempty"`
	Firmware    string `json:"firmware_version,omitempty"`
	WWN         *wwn   `json:"wwn,omitempty"`

	// SCSI disks name themselves in these instead, with and without the prefix by version.
	Vendor       string      `json:"vendor,omitempty"`
	Product      string      `json:"product,omitempty"`
	Revision     string      `json:"revision,omitempty"`
	SCSIModel    string      `json:"scsi_model_name,omitempty"`
	SCSIRevision string      `json:"scsi_revision,omitempty"`
	LogicalUnit  string      `json:"logical_unit_id,omitempty"`
	Transport    *namedValue `json:"scsi_transport_protocol,omitempty"`

	UserCapacity  *bytesOf        `json:"user_capacity,omitempty"`
	TotalCapacity number          `json:"nvme_total_capacity,omitempty"`
	Namespaces    []nvmeNamespace `json:"nvme_namespaces,omitempty"`
	LogicalBlock  number          `json:"logical_block_size,omitempty"`
	RotationRate  number          `json:"rotation_rate,omitempty"`
	Status        *smartStatus    `json:"smart_status,omitempty"`
	PowerMode     *powerMode      `json:"power_mode,omitempty"`
	Temperature   *temperature    `json:"temperature,omitempty"`
	PowerOnTime   *powerOnTime    `json:"power_on_time,omitempty"`
	PowerCycles   number          `json:"power_cycle_count,omitempty"`
	Attributes    *attributes     `json:"ata_smart_attributes,omitempty"`
	Statistics    *statistics     `json:"ata_device_statistics,omitempty"`
	NVMe          *nvmeHealth     `json:"nvme_smart_health_information_log,omitempty"`
	NVMeLimits    *nvmeLimits     `json:"nvme_composite_temperature_threshold,omitempty"`
	SCSIUsed      number          `json:"scsi_percentage_used_endurance_indicator,omitempty"`
	SCSIDefects   number          `json:"scsi_grown_defect_list,omitempty"`
	SCSIErrors    *scsiErrors     `json:"scsi_error_counter_log,omitempty"`
	Extension     *extension      `json:"ssd_exporter,omitempty"`
}

type smartctlRun struct {
	Version    []int     `json:"version,omitempty"`
	Messages   []message `json:"messages,omitempty"`
	ExitStatus number    `json:"exit_status"`
}

type message struct {
	String   string `json:"string"`
	Severity string `json:"severity"`
}

type localTime struct {
	Unix number `json:"time_t"`
}

type reportDevice struct {
	Name     string `json:"name,omitempty"`
	Type     string `json:"type,omitempty"`
	Protocol string `json:"protocol,omitempty"`
}

type namedValue struct {
	Name string `json:"name"`
}

type bytesOf struct {
	Bytes number `json:"bytes,omitempty"`
}

// wwn is a name of NAA type 5: 4 bits of type, 24 of the vendor, 36 of the vendor's own.
type wwn struct {
	NAA number `json:"naa"`
	OUI number `json:"oui"`
	ID  number `json:"id"`
}

type nvmeNamespace struct {
	ID    number   `json:"id,omitempty"`
	Size  *bytesOf `json:"size,omitempty"`
	EUI64 *eui64   `json:"eui64,omitempty"`
}

type eui64 struct {
	OUI number `json:"oui"`
	ID  number `json:"ext_id"`
}

type smartStatus struct {
	Passed *bool `json:"passed,omitempty"`
}

type powerMode struct {
	ATA  number `json:"ata_value,omitempty"`
	Name string `json:"name,omitempty"`
}

type temperature struct {
	Current   number `json:"current,omitempty"` // degrees Celsius
	DriveTrip number `json:"drive_trip,omitempty"`
}

type powerOnTime struct {
	Hours   number `json:"hours,omitempty"`
	Minutes number `json:"minutes,omitempty"`
}

type attributes struct {
	Table []attribute `json:"table"`
}

type attribute struct {
	ID     number          `json:"id"`
	Name   string          `json:"name,omitempty"`
	Value  number          `json:"value,omitempty"`
	Worst  number          `json:"worst,omitempty"`
	Thresh number          `json:"thresh,omitempty"`
	Flags  *attributeFlags `json:"flags,omitempty"`
	Raw    *attributeRaw   `json:"raw,omitempty"`
}

type attributeFlags struct {
	Value number `json:"value,omitempty"`
}

type attributeRaw struct {
	Value  number `json:"value,omitempty"`
	String string `json:"string,omitempty"`
}

type statistics struct {
	Pages []statisticsPage `json:"pages"`
}

type statisticsPage struct {
	Number number      `json:"number"`
	Name   string      `json:"name,omitempty"`
	Table  []statistic `json:"table"`
}

type statistic struct {
	Offset number         `json:"offset"`
	Name   string         `json:"name,omitempty"`
	Value  number         `json:"value,omitempty"`
	Flags  statisticFlags `json:"flags"`
}

type statisticFlags struct {
	Valid bool `json:"valid"`
}

// nvmeHealth is log page 0x02 as smartctl prints it: temperatures in degrees Celsius (Kelvin - 273).
type nvmeHealth struct {
	CriticalWarning number   `json:"critical_warning,omitempty"`
	Temperature     number   `json:"temperature,omitempty"`
	Spare           number   `json:"available_spare,omitempty"`
	SpareThreshold  number   `json:"available_spare_threshold,omitempty"`
	PercentageUsed  number   `json:"percentage_used,omitempty"`
	UnitsRead       number   `json:"data_units_read,omitempty"`
	UnitsWritten    number   `json:"data_units_written,omitempty"`
	HostReads       number   `json:"host_reads,omitempty"`
	HostWrites      number   `json:"host_writes,omitempty"`
	BusyMinutes     number   `json:"controller_busy_time,omitempty"`
	PowerCycles     number   `json:"power_cycles,omitempty"`
	PowerOnHours    number   `json:"power_on_hours,omitempty"`
	UnsafeShutdowns number   `json:"unsafe_shutdowns,omitempty"`
	MediaErrors     number   `json:"media_errors,omitempty"`
	ErrorEntries    number   `json:"num_err_log_entries,omitempty"`
	WarningMinutes  number   `json:"warning_temp_time,omitempty"`
	CriticalMinutes number   `json:"critical_comp_time,omitempty"`
	Sensors         []number `json:"temperature_sensors,omitempty"`
	Throttle1       number   `json:"thermal_mgmt_temperature_1_total_time,omitempty"`
	Throttle2       number   `json:"thermal_mgmt_temperature_2_total_time,omitempty"`
}

type nvmeLimits struct {
	Warning  number `json:"warning,omitempty"` // degrees Celsius
	Critical number `json:"critical,omitempty"`
}

type scsiErrors struct {
	Read  *scsiCounters `json:"read,omitempty"`
	Write *scsiCounters `json:"write,omitempty"`
}

type scsiCounters struct {
	Gigabytes   string `json:"gigabytes_processed,omitempty"` // of 10^9 bytes, a decimal string
	Uncorrected number `json:"total_uncorrected_errors,omitempty"`
}

// extension carries what smartctl's JSON has no place for, so that a Reading survives the round trip. smartctl never
// prints it, and other readers ignore it.
type extension struct {
	At           string   `json:"at,omitempty"` // RFC 3339 with nanoseconds, when local_time is too coarse
	Transport    string   `json:"transport,omitempty"`
	Kernel       string   `json:"kernel,omitempty"`
	WWN          string   `json:"wwn,omitempty"`
	PowerOnHours number   `json:"power_on_hours,omitempty"`
	MMC          *mmcLife `json:"emmc_life,omitempty"`
}

type mmcLife struct {
	TypeA  uint8 `json:"type_a"`
	TypeB  uint8 `json:"type_b"`
	PreEOL uint8 `json:"pre_eol"`
}

// nvmeCLI is what `nvme smart-log -o json` prints, with the names of several versions. Temperatures are Kelvin.
type nvmeCLI struct {
	CriticalWarning number `json:"critical_warning"`
	Temperature     number `json:"temperature"`
	Spare           number `json:"avail_spare"`
	SpareThreshold  number `json:"spare_thresh"`
	PercentUsed     number `json:"percent_used"`
	PercentageUsed  number `json:"percentage_used"`
	UnitsRead       number `json:"data_units_read"`
	UnitsWritten    number `json:"data_units_written"`
	HostReads       number `json:"host_read_commands"`
	HostWrites      number `json:"host_write_commands"`
	BusyMinutes     number `json:"controller_busy_time"`
	PowerCycles     number `json:"power_cycles"`
	PowerOnHours    number `json:"power_on_hours"`
	UnsafeShutdowns number `json:"unsafe_shutdowns"`
	MediaErrors     number `json:"media_errors"`
	ErrorEntries    number `json:"num_err_log_entries"`
	WarningMinutes  number `json:"warning_temp_time"`
	CriticalMinutes number `json:"critical_comp_time"`
	Sensor1         number `json:"temperature_sensor_1"`
	Sensor2         number `json:"temperature_sensor_2"`
	Sensor3         number `json:"temperature_sensor_3"`
	Sensor4         number `json:"temperature_sensor_4"`
	Sensor5         number `json:"temperature_sensor_5"`
	Sensor6         number `json:"temperature_sensor_6"`
	Sensor7         number `json:"temperature_sensor_7"`
	Sensor8         number `json:"temperature_sensor_8"`
	Throttle1       number `json:"thm_temp1_total_time"`
	Throttle2       number `json:"thm_temp2_total_time"`
}
