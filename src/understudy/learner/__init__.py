"""The learner that works beside a live bot, in a separate process."""
