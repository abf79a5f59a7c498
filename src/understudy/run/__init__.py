"""What every training process has: a lock on its run, a status file, a control file, a heartbeat and a log."""
