"""Many machines: games and models travel through an object store, a bucket or a shared folder."""
