"""`understudy tune`: searches for training settings on Ray Tune; the gate's test decides whether they are better."""
