"""Window functions, symmetric unless asked otherwise."""
