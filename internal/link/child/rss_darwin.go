package child

// maxRSSUnit is in bytes what ru_maxrss counts, getrusage(2).
const maxRSSUnit = 1
