"""What every training process needs: a lock on its run, a status file, a control file, a heartbeat and a log."""
