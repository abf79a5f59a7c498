"""The sidecar: `understudy serve` decides and records for bots in any language, over HTTP or standard input."""
