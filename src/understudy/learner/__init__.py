"""The learner that works beside a live bot, in a process of its own."""
