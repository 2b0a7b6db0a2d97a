"""The real work, as plain functions over a store and ports; knows neither Flask nor Dramatiq."""
