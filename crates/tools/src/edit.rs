//! Changing notes and folders.
