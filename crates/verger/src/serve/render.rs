//! Markdown as HTML that is safe to show: rendered and cleaned here, so that the page never parses text of others.
