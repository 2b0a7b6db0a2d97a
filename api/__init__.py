"""The HTTP surface: validates, authorises, enqueues and serves back; never does the work itself."""
