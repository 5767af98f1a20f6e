//! The agent itself: finding tools, turning pages.

