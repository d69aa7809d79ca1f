"""Which segments are needed and by whom; what may go; what `status` tells."""
