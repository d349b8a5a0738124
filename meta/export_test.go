package meta

// FleetOf is NewFleet over any samples.
var FleetOf = fleetOf
