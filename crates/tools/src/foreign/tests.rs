//! Real servers, good and bad, behind the real road.
