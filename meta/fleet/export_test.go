package fleet

// HealthOf is Measure of any samples.
var HealthOf = healthOf
