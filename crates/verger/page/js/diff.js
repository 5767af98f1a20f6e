// Differences between two texts, unified and side by side.
