"""Does learning work with default settings? Tasks, peers and the table that `understudy learn-check` prints."""
