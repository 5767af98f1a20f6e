//! Reading files and checkpoints.
